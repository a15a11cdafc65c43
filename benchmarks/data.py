"""A prepared corpus as a training reads it: synthetic pairs of any number, prepared and batched.

Lengths are drawn from a log-normal distribution, about 22 words a sentence and at most 60; words
from a Zipf distribution over random syllables. Preparing and reading are processes of their own,
whose memory is that of the work alone:

    python -m benchmarks.data prepare FOLDER
    python -m benchmarks.data read FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from attnjax.config.console import plain_table
from attnjax.data.batch_plan import BatchPlan
from attnjax.data.batching import Batching, in_order
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.loaded import Corpora
from attnjax.data.packed import Packed
from attnjax.data.preparation import prepared
from attnjax.data.prepared import VARIABLE, place
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.special_tokens import PAD
from attnjax.errors import MachineError
from attnjax.files import folder_size

CHECKOUT = Path(__file__).resolve().parents[1]

TOKENS, LENGTH, LONGEST = 25_000, 128, 60
BUCKETED, PACKED = Batching(max_tokens=TOKENS), Packed(max_tokens=TOKENS, length=LENGTH)

WORDS, PIECES, SAMPLE = 50_000, 16_000, 1_000_000
BLOCK = 50_000
"""The pairs that are drawn at once."""

HELD_OUT = 3_000
"""The pairs of the validation split, and of the test split."""

BATCHES = 300
"""The batches whose making is timed."""


def task(folder: Path) -> ParallelText:
    """Return the task of the pairs in a folder."""
    vocabulary = SentencePiece(size=PIECES, algorithm="bpe", sample=SAMPLE)
    return ParallelText(folder=str(folder), vocabulary=vocabulary)


def drawn_pairs(
    count: int, seed: int, *, words: int = WORDS, longest: int = LONGEST
) -> Iterator[tuple[str, str]]:
    """Draw pairs of texts of at most `longest` words, of similar lengths and independent words.

    The word of rank r is drawn in proportion to 1 / r; it is spelled alike for every seed.
    """
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    spelled = np.random.default_rng(0).choice(syllables, (words, 4))
    table = np.array(["".join(row[: 1 + n % 4]) for n, row in enumerate(spelled)], object)
    shares = np.cumsum(1 / np.arange(1, words + 1))
    draw = np.random.default_rng(seed)
    for begin in range(0, count, BLOCK):
        lengths = draw.lognormal(3.0, 0.6, min(BLOCK, count - begin))
        sides = []
        for side in (lengths, lengths * draw.lognormal(0, 0.2, len(lengths))):
            stops = np.cumsum(np.clip(side, 1, longest).astype(int))
            drawn = table[np.searchsorted(shares, draw.random(stops[-1]) * shares[-1])].tolist()
            starts = pairwise([0, *stops.tolist()])
            sides.append([" ".join(drawn[start:stop]) for start, stop in starts])
        yield from zip(*sides, strict=True)


def write_pairs(folder: Path, count: int) -> None:
    """Write the files of a training split of `count` pairs, of validation and of test."""
    sizes = {"train": count, "valid": HELD_OUT, "test": HELD_OUT}
    for seed, (split, size) in enumerate(sizes.items()):
        files = [(folder / f"{split}.{side}").open("w") for side in ("en", "de")]
        with files[0] as source, files[1] as target:
            for pair in drawn_pairs(size, seed, longest=LONGEST):
                for file, text in zip((source, target), pair, strict=True):
                    file.write(f"{text}\n")


def prepare(folder: Path) -> dict[str, float]:
    """Prepare the pairs in a folder; return the seconds, and the megabytes on disk."""
    began = time.perf_counter()
    prepared(task(folder))
    seconds, size = time.perf_counter() - began, folder_size(place(task(folder)))
    return {"prepare_seconds": seconds, "prepared_megabytes": size / 1e6}


def read(folder: Path) -> dict[str, float]:
    """Read prepared pairs as a run does, digests too; return speed, padding and peak memory."""
    with most_memory() as memory:
        began = time.perf_counter()
        corpus = Corpora().of(task(folder))
        examples, way = corpus.splits["train"], PACKED
        way.check(examples)
        plan = way.plan(examples)
        plan.batch(0, 0)
        first = time.perf_counter() - began
        speed = tokens_per_second(plan)
        padding = plan.padding
        for split in ("valid", "test"):
            for _ in in_order(corpus.splits[split], way):
                pass
            list(corpus.references[split])
        for split in corpus.splits:
            corpus.digest(split)
        del plan
        BUCKETED.plan(examples).batch(0, 0)
    return {
        "first_batch_seconds": first,
        "tokens_per_second": speed,
        "padding": padding,
        "megabytes": max(memory),
    }


def tokens_per_second(plan: BatchPlan) -> float:
    """Return the target tokens a second of batches that are made one after the other."""
    plan.batch(0, 0)  # draws the order of the epoch
    began = time.perf_counter()
    made = [plan.batch(step, 0) for step in range(min(BATCHES, plan.per_epoch))]
    seconds = time.perf_counter() - began
    return sum(int((batch.target != PAD).sum()) for batch in made) / seconds


@contextmanager
def most_memory() -> Iterator[list[float]]:
    """Yield a list of samples of `own_memory`, one every 20 ms until the block ends."""
    seen, ended = [own_memory()], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            seen.append(own_memory())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def own_memory() -> float:
    """Return the megabytes that this process alone holds, without pages of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("RssAnon"))


STAGES = {"prepare": prepare, "read": read}


def measure(count: int) -> dict[str, Any]:
    """Write, prepare and read pairs in a temporary folder; return all figures."""
    row: dict[str, Any] = {"pairs": count}
    with tempfile.TemporaryDirectory() as folder:
        write_pairs(Path(folder), count)
        for stage in STAGES:
            row |= _in_own_process(stage, folder)
    return row


def _in_own_process(stage: str, folder: str) -> dict[str, Any]:
    """Run a stage in a process of its own, with its own prepared corpora; return its figures."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.data", stage, folder],
        cwd=CHECKOUT,
        env={**os.environ, VARIABLE: f"{folder}/prepared"},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise MachineError(f"to {stage} the pairs has failed; the reason stands above")
    return json.loads(done.stdout.splitlines()[-1])


COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "pairs": ("synthetic pairs", lambda value: f"{value:,}"),
    "prepare_seconds": ("prepared in", lambda value: f"{value / 60:.1f} min"),
    "prepared_megabytes": ("on disk", lambda value: f"{value:,.0f} MB"),
    "first_batch_seconds": ("first batch after", lambda value: f"{value:.1f} s"),
    "padding": ("padding", lambda value: f"{value:.1%}"),
    "tokens_per_second": ("target tokens/s", lambda value: f"{value:,.0f}"),
    "megabytes": ("own memory", lambda value: f"{value:,.0f} MB"),
}
"""The figures: title, and how a value is written."""


def table(row: dict[str, Any]) -> Table:
    """Return the figures as a table of one row."""
    drawn = plain_table([], [title for title, _ in COLUMNS.values()])
    drawn.add_row(*(shown(row[key]) for key, (_, shown) in COLUMNS.items()))
    return drawn


if __name__ == "__main__":
    print(json.dumps(STAGES[sys.argv[1]](Path(sys.argv[2]))))
