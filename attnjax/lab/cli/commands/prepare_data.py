"""`attnjax data prepare`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from attnjax.config.console import plain_table
from attnjax.config.override import Override, override
from attnjax.config.walk import walk
from attnjax.errors import UserError
from attnjax.lab.cli.chosen import EXPERIMENT, ChosenExperiment
from attnjax.lab.cli.command import option, positional
from attnjax.lab.cli.output import out, say

if TYPE_CHECKING:
    from attnjax.data.prepared import PreparedManifest
    from attnjax.data.text_task import TextTask

CORPUS = (
    "an experiment; a name in tensorflow-datasets, such as wmt14_translate/de-en; two files of "
    "parallel text; or a file of sources, tabs and targets"
)


def prepare_data(
    corpus: Annotated[tuple[str, ...], positional("CORPUS", CORPUS)],
    *,
    setting: Annotated[str | None, option("a setting of the experiment", "S")] = None,
    overrides: Annotated[tuple[Override, ...], replace(EXPERIMENT, of="CORPUS ...")] = (),
) -> None:
    """Encode the texts of a corpus once, into files that runs map into memory."""
    from attnjax.data.preparation import prepare

    for task in _tasks(*corpus, setting=setting, overrides=overrides):
        folder, manifest = prepare(task)
        say(str(folder))
        out().print(_table(manifest))


def _tasks(
    first: str, *others: str, setting: str | None, overrides: tuple[Override, ...]
) -> "list[TextTask]":
    """Return each corpus of files that the words name, once."""
    from attnjax.data.text_task import TextTask

    if others or not (first.isidentifier() or first.endswith(".py")):
        return [override(_Named(_task(first, *others)), overrides).task]
    chosen = ChosenExperiment(experiment=first, setting=setting, overrides=overrides)
    ablation = chosen.load().ablation
    variants = [chosen.with_overrides(ablation, name) for name in ablation.variants]
    parts = [part for variant in variants for _, part in walk(variant.task)]
    tasks = [variant.task for variant in variants] + parts
    texts = [task for task in dict.fromkeys(tasks) if isinstance(task, TextTask)]
    if not texts:
        raise UserError(f"{first} has no corpus of texts in files: nothing is prepared")
    return texts


@dataclass(frozen=True)
class _Named:
    """A corpus that is named by itself, as a field that overrides reach."""

    task: "TextTask"


def _task(*words: str) -> "TextTask":
    """Return the corpus of files, or of a name in tensorflow-datasets."""
    from attnjax.data import ParallelText, TabSeparated, Translation

    first, *others = (Path(word.removesuffix(".gz")) for word in words)
    alone: dict[str, Any] = {"folder": str(first.parent), "valid": None, "test": None}
    if not others and not first.suffix:
        return Translation(name=words[0])
    if not others:
        return TabSeparated(train=first.name, **alone)
    if [other.with_suffix("") for other in others] != [first.with_suffix("")]:
        raise UserError(
            "two files of parallel text have one name and two endings, such as train.en and "
            f"train.de; got {' '.join(words)}"
        )
    source, target = (file.suffix.removeprefix(".") for file in (first, *others))
    return ParallelText(train=first.stem, source=source, target=target, **alone)


def _table(manifest: "PreparedManifest") -> Table:
    """Return a table of each split's counts, and a histogram of the longer side's length."""
    bins = max(len(split.lengths) for split in manifest.splits)
    used = [n for n in range(bins) if any(sum(s.lengths[n : n + 1]) for s in manifest.splits)]
    limits = [f"to {2**number:,}" for number in used]
    drawn = plain_table(["split", "read", "kept", *limits])
    for split in manifest.splits:
        counts = [f"{sum(split.lengths[number : number + 1]):,}" for number in used]
        drawn.add_row(split.name, f"{split.count:,}", f"{split.kept:,}", *counts)
    return drawn
