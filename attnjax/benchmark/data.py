"""Batches as a training takes them: padding, speed, memory, and how long steps wait for them.

Corpora are Multi30k, where `ATTNJAX_DATA` has it, and the synthetic pairs of
`attnjax.benchmark.prepared`. All are prepared, and read from the mapped files.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from rich.table import Table

from attnjax.benchmark.prepared import measure as measure_pairs, tokens_per_second
from attnjax.benchmark.train import SIZES, recipe_of, transformer
from attnjax.console import plain_table
from attnjax.data.batch_plan import BatchPlan
from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.corpus import Corpus
from attnjax.data.packed import Packed, PackedPlan
from attnjax.data.preparation import prepared
from attnjax.data.prepared import VARIABLE
from attnjax.errors import NoCorpus
from attnjax.evaluation.flops import update_flops
from attnjax.training.devices import sharding
from attnjax.training.loop.run_state import ReadAhead
from attnjax.training.settings import Recipe
from attnjax.training.step import train_step
from attnjax.training.train_setup import TrainSetup

PAIRS = (30_000, 450_000, 4_500_000)
"""The numbers of synthetic pairs; the last is WMT 2014 English-German's."""

WAYS = {
    "bucketed": Batching(max_tokens=8_192, shapes=16),
    # the longest sentence has 52 symbols; attention over longer rows computes more than is padded
    "packed": Packed(max_tokens=8_192, length=60),
}

TURNS, STEPS = 5, 12
"""Turns of the trainings that are compared, and the steps of a turn."""

MULTI30K = ParallelText(folder="multi30k-bpe", test="test.2016")


def measure() -> dict[str, Any]:
    """All figures: rows of batches, and of trainings; of Multi30k only where it is."""
    rows: list[dict[str, Any]] = []
    for pairs in PAIRS:
        print(f"{pairs:,} synthetic pairs", file=sys.stderr)
        rows.append({"batches": "packed", **measure_pairs(pairs)})
    with tempfile.TemporaryDirectory() as folder:
        # what a timing prepares is not what later runs read
        os.environ[VARIABLE] = folder
        try:
            corpus = prepared(MULTI30K)
        except NoCorpus:
            return {"batches": rows, "trainings": []}
        for name, batching in WAYS.items():
            began = time.perf_counter()
            plan = batching.plan(corpus.splits["train"])
            plan.batch(0, 0)
            row = {"first_batch_seconds": time.perf_counter() - began, "padding": plan.padding}
            row["tokens_per_second"] = tokens_per_second(plan)
            rows.append({"corpus": "Multi30k", "batches": name, **row})
        return {"batches": rows, "trainings": _trainings(corpus)}


def _trainings(corpus: Any) -> list[dict[str, Any]]:
    """The tiny Transformer on Multi30k, bucketed and packed, in turns."""
    source, target = corpus.vocabularies.sizes
    model = transformer(SIZES["tiny"], target)
    if corpus.vocabularies.source != corpus.vocabularies.target:
        model = model.clone(source_vocabulary=source, embeddings="tied")
    ways = {
        name: _Updates(recipe_of(model, batching=batching), corpus)
        for name, batching in WAYS.items()
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

    def __init__(self, recipe: Recipe, corpus: Corpus) -> None:
        plan = recipe.training.batching.plan(corpus.splits["train"])
        setup = TrainSetup(recipe=recipe, plan=plan, valid=())
        devices = sharding.devices("mesh", rows=8, seeds=False)
        self._step = devices.compile(partial(train_step, recipe=recipe), donate=True)
        flops = sum(count * update_flops(recipe, batch) for batch, count in _of_each_shape(plan))
        self.flops = flops / int(corpus.splits["train"].target.lengths.sum())
        self._state = devices.replicate(setup.initial_state(0))
        self.ahead = ReadAhead(lambda step: devices.shard(plan.batch(step, 0)), end=10**9)
        self._number, self.tokens, self.seconds, self.waited = 0, [], [], []
        for batch, _ in _of_each_shape(plan):
            self._state, metrics = self._step(self._state, devices.shard(batch))
            jax.block_until_ready(metrics)

    def turn(self) -> None:
        """Some updates, whose metrics are read one step late, as in a training."""
        waited, tokens, unread, began = 0.0, 0.0, 0.0, time.perf_counter()
        for _ in range(STEPS):
            asked = time.perf_counter()
            batch = self.ahead.take(self._number)
            waited += time.perf_counter() - asked
            self._number += 1
            self._state, metrics = self._step(self._state, batch)
            tokens += float(unread)
            unread = metrics["tokens"]
        self.tokens.append(tokens + float(unread))
        self.seconds.append(time.perf_counter() - began)
        self.waited.append(waited)

    def figures(self) -> dict[str, Any]:
        """Target tokens a second, of all turns and of each, and the share of waiting."""
        turns = zip(self.tokens, self.seconds, strict=True)
        return {
            "tokens_per_second": sum(self.tokens) / sum(self.seconds),
            "samples": [tokens / seconds for tokens, seconds in turns],
            "waiting": sum(self.waited) / sum(self.seconds),
            "flops_per_token": self.flops,
        }


def _of_each_shape(plan: BatchPlan) -> Iterator[tuple[Any, int]]:
    """The first batch of each shape, and how many an epoch has."""
    if isinstance(plan, PackedPlan):
        yield plan.batch(0, 0), plan.per_epoch
        return
    for bucket in plan.buckets:
        yield bucket.batch(0, np.arange(len(bucket.indices)))[1], bucket.batches


COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "prepare_seconds": ("prepared in", lambda value: f"{value / 60:.1f} min"),
    "prepared_megabytes": ("on disk", lambda value: f"{value:,.0f} MB"),
    "first_batch_seconds": ("first batch after", lambda value: f"{value:.1f} s"),
    "padding": ("padding", lambda value: f"{value:.1%}"),
    "tokens_per_second": ("target tokens/s", lambda value: f"{value:,.0f}"),
    "megabytes": ("own memory", lambda value: f"{value:,.0f} MB"),
}
"""The figures of a corpus: title, and how a value is written."""


def tables(content: dict[str, Any]) -> Sequence[Table]:
    """The figures as tables."""
    batches = plain_table(["corpus", "batches"], [title for title, _ in COLUMNS.values()])
    for row in content["batches"]:
        cells = (shown(row[key]) if key in row else "" for key, (_, shown) in COLUMNS.items())
        batches.add_row(row["corpus"], row["batches"], *cells)
    figures = ("target tokens/s", "turns", "waits for data", "FLOPs a target token")
    trainings = plain_table(["tiny Transformer on Multi30k"], figures)
    for row in content["trainings"]:
        trainings.add_row(
            row["batches"],
            f"{row['tokens_per_second']:,.0f}",
            f"{min(row['samples']):,.0f} to {max(row['samples']):,.0f}",
            f"{row['waiting']:.2%}",
            f"{row['flops_per_token'] / 1e6:.2f} million",
        )
    return [batches, *([trainings] if content["trainings"] else [])]
