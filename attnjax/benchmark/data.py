"""Batches as a training takes them: padding, speed, memory, and how long steps wait for them.

Corpora are Multi30k, where `ATTNJAX_DATA` has it, and synthetic pairs whose lengths are drawn from
a log-normal law (about 24 words a sentence, at most 100). The ids of synthetic pairs are mapped
from a file; each of their sizes is measured in a process of its own.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from attnjax.data.batching import Batching, BatchPlan
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.examples import Examples, Rows
from attnjax.data.packed import Packed, PackedPlan
from attnjax.data.special_tokens import PAD
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError

PAIRS = (30_000, 450_000, 4_500_000)
"""The numbers of synthetic pairs; the last is WMT 2014 English-German's."""

VOCABULARY = 37_000
TOKENS, LENGTH, WMT_TOKENS, WMT_LENGTH = 8_192, 96, 25_000, 128
BUCKETED = Batching(max_tokens=TOKENS, shapes=16)
PACKED = Packed(max_tokens=TOKENS, length=LENGTH)
BATCHES = 300
"""The batches whose making is timed."""

TURNS, STEPS = 5, 12
"""Turns of the trainings that are compared, and the steps of a turn."""

MULTI30K = ParallelText(
    folder="multi30k-bpe",
    source="en",
    target="de",
    train="train",
    valid="valid",
    test="test.2016",
    vocabulary=SplitWords(),
)


def measure() -> dict[str, Any]:
    """All figures: rows of batches, and of trainings."""
    rows = []
    for pairs in PAIRS:
        command = [sys.executable, "-m", "attnjax.benchmark.data", str(pairs)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout))
    try:
        corpus = MULTI30K.load()
    except UserError:
        return {"batches": rows, "trainings": []}
    examples = corpus.splits["train"]
    for name, batching in (("bucketed", BUCKETED), ("packed", PACKED)):
        began = time.perf_counter()
        plan = batching.plan(examples)
        seconds = time.perf_counter() - began
        rows.append({"corpus": "Multi30k", "batches": name, **_of_plan(plan, seconds)})
    return {"batches": rows, "trainings": _trainings(corpus)}


def synthetic(pairs: int, folder: Path) -> dict[str, Any]:
    """Synthetic pairs, packed: figures, and the process's own memory."""
    source, target = (_mapped(lengths, folder / name) for name, lengths in _lengths(pairs).items())
    before = own_memory()
    began = time.perf_counter()
    plan = Packed(max_tokens=WMT_TOKENS, length=WMT_LENGTH).plan(Examples(source, target))
    seconds = time.perf_counter() - began
    row = _of_plan(plan, seconds)
    memory = {"megabytes": own_memory(), "added_megabytes": own_memory() - before}
    return {"corpus": f"{pairs:,} synthetic pairs", "batches": "packed", **row, **memory}


def own_memory() -> float:
    """The megabytes that this process alone holds: pages of mapped files are left out."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("RssAnon"))


def _of_plan(plan: BatchPlan, seconds: float) -> dict[str, Any]:
    """Padding, and the target tokens a second of batches made one after the other."""
    plan.batch(0, 0)  # draws the order of the epoch
    began = time.perf_counter()
    made = [plan.batch(step, 0) for step in range(min(BATCHES, plan.per_epoch))]
    speed = time.perf_counter() - began
    tokens = sum(int((batch.target != PAD).sum()) for batch in made)
    return {"padding": plan.padding, "plan_seconds": seconds, "tokens_per_second": tokens / speed}


def _lengths(pairs: int) -> dict[str, np.ndarray]:
    """Lengths of synthetic sources and targets, [N] each."""
    draw = np.random.default_rng(0)
    source = draw.lognormal(3.0, 0.6, pairs)
    target = source * draw.lognormal(0, 0.2, pairs)
    sides = {"source": source, "target": target}
    return {name: np.clip(side, 1, 99).astype(np.int32) + 1 for name, side in sides.items()}


def _mapped(lengths: np.ndarray, path: Path) -> Rows:
    """Random ids of sentences of these lengths, written a part at a time and mapped."""
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    draw = np.random.default_rng(1)
    with path.open("wb") as file:
        for begin in range(0, int(starts[-1]), 1 << 22):
            count = min(1 << 22, int(starts[-1]) - begin)
            file.write(draw.integers(4, VOCABULARY, count, dtype=np.int32).tobytes())
    return Rows.cut(np.memmap(path, np.int32, "r"), starts)


def _trainings(corpus: Any) -> list[dict[str, Any]]:
    """The tiny Transformer on Multi30k, bucketed and packed, in turns."""
    from attnjax.benchmark.train import SIZES, transformer
    from attnjax.training.objectives.base import CrossEntropy
    from attnjax.training.optimizers import Adam
    from attnjax.training.schedules import Constant
    from attnjax.training.settings import Recipe, Training

    source, target = corpus.vocabularies.sizes
    model = transformer(SIZES["tiny"], target)
    if corpus.vocabularies.source != corpus.vocabularies.target:
        model = model.clone(source_vocabulary=source, embeddings="tied")
    recipe = Recipe(
        model=model,
        objective=CrossEntropy(),
        optimizer=Adam(schedule=Constant(value=1e-4), epsilon=1e-8),
        training=Training(),
    )
    ways = {
        name: _Updates(replace(recipe, training=Training(batching=batching)), corpus)
        for name, batching in (("bucketed", BUCKETED), ("packed", PACKED))
    }
    for _ in range(TURNS):
        for way in ways.values():
            way.turn()
    rows = [{"batches": name, **way.figures()} for name, way in ways.items()]
    for way in ways.values():
        way.ahead.close()
    return rows


class _Updates:
    """A training whose updates are timed; every shape is compiled before."""

    def __init__(self, recipe: Any, corpus: Any) -> None:
        import jax

        from attnjax.training.devices import sharding
        from attnjax.training.loop.read_ahead import ReadAhead
        from attnjax.training.step import train_step
        from attnjax.training.train_setup import TrainSetup

        plan = recipe.training.batching.plan(corpus.splits["train"])
        setup = TrainSetup(recipe=recipe, plan=plan, valid=())
        devices = sharding.devices("mesh", rows=8, seeds=False)
        self._step = devices.compile(partial(train_step, recipe=recipe), donate=True)
        self._state, self._wait = devices.replicate(setup.initial_state(0)), jax.block_until_ready
        self.ahead = ReadAhead(lambda step: devices.shard(plan.batch(step, 0)), end=10**9)
        self._number, self.tokens, self.seconds, self.waited = 0, [], [], []
        for batch in _of_each_shape(plan):
            self._state, metrics = self._step(self._state, devices.shard(batch))
            jax.block_until_ready(metrics)

    def turn(self) -> None:
        """Some updates, whose metrics are read one step late, as in a training."""
        waited, tokens, unread, began = 0.0, 0.0, [], time.perf_counter()
        for _ in range(STEPS):
            asked = time.perf_counter()
            batch = self.ahead.take(self._number)
            waited += time.perf_counter() - asked
            self._number += 1
            self._state, metrics = self._step(self._state, batch)
            unread.append(metrics["tokens"])
            if len(unread) > 1:
                tokens += float(unread.pop(0))
        tokens += float(unread.pop())
        self.tokens.append(tokens)
        self.seconds.append(time.perf_counter() - began)
        self.waited.append(waited)

    def figures(self) -> dict[str, Any]:
        """Target tokens a second, of all turns and of each, and the share of waiting."""
        samples = [
            tokens / seconds for tokens, seconds in zip(self.tokens, self.seconds, strict=True)
        ]
        return {
            "tokens_per_second": sum(self.tokens) / sum(self.seconds),
            "samples": samples,
            "waiting": sum(self.waited) / sum(self.seconds),
        }


def _of_each_shape(plan: BatchPlan) -> Iterator[Any]:
    """The first batch of each shape."""
    if isinstance(plan, PackedPlan):
        yield plan.batch(0, 0)
        return
    for bucket in plan.buckets:
        yield bucket.batch(0, np.arange(len(bucket.indices)))[1]


def tables(content: dict[str, Any]) -> Sequence[Table]:
    """The figures as tables."""
    batches = Table("corpus", box=None, pad_edge=False)
    for column in ("batches", "padding", "planned in", "target tokens/s", "own memory"):
        batches.add_column(column, justify="right")
    for row in content["batches"]:
        memory = f"{row['megabytes']:,.0f} MB" if "megabytes" in row else ""
        batches.add_row(
            row["corpus"],
            row["batches"],
            f"{row['padding']:.1%}",
            f"{row['plan_seconds']:.1f} s",
            f"{row['tokens_per_second']:,.0f}",
            memory,
        )
    trainings = Table("tiny Transformer on Multi30k", box=None, pad_edge=False)
    for column in ("target tokens/s", "turns", "waits for data"):
        trainings.add_column(column, justify="right")
    for row in content["trainings"]:
        trainings.add_row(
            row["batches"],
            f"{row['tokens_per_second']:,.0f}",
            f"{min(row['samples']):,.0f} to {max(row['samples']):,.0f}",
            f"{row['waiting']:.2%}",
        )
    return [batches, *([trainings] if content["trainings"] else [])]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(synthetic(int(sys.argv[1]), Path(folder))))
