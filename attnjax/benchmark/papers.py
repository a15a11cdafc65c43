"""The papers' settings on synthetic corpora: what data of WMT's size take before the first updates.

    python -m attnjax.benchmark.papers FOLDER PAIRS [UPDATES]

Writes corpora of PAIRS pairs below FOLDER, in the form of tensorflow-datasets, with the names that
the settings have for WMT's: the synthetic pairs of `attnjax.benchmark.prepared`. Then each setting,
in a process of its own, prepares its corpus and takes its first UPDATES updates (10 if not given).
Minutes are the processor's, of all cores together. Finished corpora and measurements are kept.
"""

import json
import os
import resource
import sys
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from attnjax.benchmark.prepared import in_own_process, own_memory, pairs as synthetic_pairs
from attnjax.config.vary import vary
from attnjax.console import plain_table
from attnjax.data.corpora.tfds import find_prepared
from attnjax.data.loaded import Corpora
from attnjax.data.preparation import prepare
from attnjax.data.prepared import VARIABLE
from attnjax.errors import NoCorpus
from attnjax.evaluation.flops import update_flops
from attnjax.experiment.load import load
from attnjax.files import folder_size
from attnjax.runs.catalog import find
from attnjax.training.loop.loop import train
from attnjax.training.loop.run_state import Run
from attnjax.training.train_setup import TrainSetup


class PaperSetting(NamedTuple):
    """A setting of a shipped experiment, one of its variants, and the pairs that it wants."""

    experiment: str
    setting: str
    variant: str
    corpus: str
    pairs: int


SETTINGS = (
    PaperSetting("vaswani2017", "paper", "base", "wmt14_translate/de-en", 4_500_000),
    PaperSetting("vaswani2017", "paper_fr", "base", "wmt14_translate/fr-en", 41_000_000),
    PaperSetting("bahdanau2015", "paper", "search", "wmt14_translate/fr-en", 12_000_000),
    PaperSetting("luong2015", "paper", "local_p_general", "wmt14_translate/de-en", 4_500_000),
    PaperSetting("sutskever2014", "paper", "reversed", "wmt14_translate/fr-en", 12_000_000),
)

WORDS, LONGEST = 2_000_000, 99
"""The ranks of words, many of them spelled alike, and the most words of a sentence."""

HELD_OUT = 32
"""The pairs of the validation and of the test split."""

DEVICE_TOKENS = 2_048


def write(folder: Path, name: str, pairs: int) -> None:
    """Write a corpus, where it is not there yet."""
    # imported here: a process whose memory is measured writes none
    from tensorflow_datasets.core.features import Translation

    from attnjax.data.corpora.tfds_builder import build

    try:
        find_prepared(name, str(folder))
    except NoCorpus:
        languages = name.partition("/")[2].split("-")
        texts = partial(synthetic_pairs, words=WORDS, longest=LONGEST)
        sizes = {"train": pairs, "validation": HELD_OUT, "test": HELD_OUT}
        rows = {
            split: (dict(zip(languages, pair, strict=True)) for pair in texts(count, seed))
            for seed, (split, count) in enumerate(sizes.items())
        }
        build(name, folder, Translation(languages=languages), rows)


def measure(chosen: PaperSetting, folder: Path, updates: int) -> dict[str, Any]:
    """Prepare the corpus of a setting and take its first updates, in this process."""
    console = Console(stderr=True)
    experiment = load(find(chosen.experiment)).at(chosen.setting).ablation.variant(chosen.variant)
    whole = experiment.training.steps
    changes = {
        "task.folder": str(folder),
        "task.train": "train",
        "training.steps": updates,
        "training.device_tokens": DEVICE_TOKENS,
    }
    experiment = vary(experiment, changes)
    task: Any = experiment.task
    began = processor_seconds()
    prepare(task)
    prepared = processor_seconds()
    corpus = Corpora(console.print).of(task)
    experiment = experiment.resolve(corpus)
    setup = TrainSetup.of(experiment.recipe, corpus)
    planned = processor_seconds()
    memory = own_memory()
    run = Run(folder=folder / "runs" / "-".join(chosen[:3]), seed=0)
    train([run], setup, console=console)
    trained = processor_seconds()
    # batches differ in shape
    flops = mean(update_flops(setup.recipe, setup.plan.batch(n, 0)) for n in range(updates))
    return {
        "prepared": prepared - began,
        "planned": planned - prepared,
        "trained": trained - planned,
        "memory_before": memory / 1e3,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "flops": flops * whole,
    }


def processor_seconds() -> float:
    """The processor time of this process and its children: no other load makes it longer."""
    return sum(os.times()[:4])


def main(folder: Path, pairs: int, updates: int = 10) -> Table:
    """All settings: figures; disk and minutes of the real corpus are in proportion to its pairs.

    The memory of a process that maps its corpus does not grow so, and is not extrapolated.
    """
    columns = ("corpus", "prepared in", "prepared", "planned in", "memory before", "memory")
    more = (f"{updates} updates", "whole training", "pairs", "disk", "minutes")
    table = plain_table([f"{pairs:,} pairs"], [*columns, *more])
    for chosen in SETTINGS:
        name = "-".join(chosen[:3])
        own = folder / name
        write(folder, chosen.corpus, pairs)
        kept = folder / f"{name}-{updates}.json"
        if not kept.exists():
            words = (str(folder), str(pairs), str(updates), name)
            figures = in_own_process("papers", *words, environment={VARIABLE: str(own)})
            kept.write_text(json.dumps(figures))
        row, times = json.loads(kept.read_text()), chosen.pairs / pairs
        corpus, files = (folder_size(each) / 1e9 for each in (folder / chosen.corpus, own))
        table.add_row(
            " ".join(chosen[:3]),
            f"{corpus:.2f} GB",
            f"{row['prepared'] / 60:.1f} min",
            f"{files:.2f} GB",
            f"{row['planned']:.1f} s",
            f"{row['memory_before']:.1f} GB",
            f"{row['memory']:.1f} GB",
            f"{row['trained'] / 60:.1f} min",
            f"{row['flops']:.1e} FLOPs",
            f"{chosen.pairs:,}",
            f"{(corpus + files) * times:.0f} GB",
            f"{row['prepared'] / 60 * times:.0f}",
        )
    return table


if __name__ == "__main__":
    place, count, *rest = sys.argv[1:]
    if rest[1:]:
        asked = next(each for each in SETTINGS if "-".join(each[:3]) == rest[1])
        print(json.dumps(measure(asked, Path(place), int(rest[0]))))
    else:
        Console(width=200).print(main(Path(place), int(count), *map(int, rest)))
