"""The training and validation data of runs, by their digests: no run outlives its data.

config.json has the digests from when the data are first read, result.json those of all splits.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.lab.runs.manifest import CONFIG, Manifest, read
from attnjax.lab.runs.result import read_result
from attnjax.lab.runs.run_folder import has_progress

TRAINED_ON = ("train", "valid")
"""The splits that a training reads."""

PLACES = ("seed-*", "tune/*", "tune/*/seed-*", "tied/*/seed-*")
"""The folders of runs in that of a variant."""


def with_data(wanted: Manifest, corpus: Corpus) -> Manifest:
    """Return the manifest of a run that is about to be trained, with the digests of its data."""
    data = corpus.of_seed(wanted.seed)
    digests = {split: data.digest(split) for split in TRAINED_ON if split in data.splits}
    return replace(wanted, data=digests, data_of_seed=corpus.drawn is not None)


def check_variant(folder: Path, corpus: Corpus) -> None:
    """Refuse the runs in a variant's folder, finished or interrupted, of other data than these.

    Where each seed draws data of its own, the first run stands for all: a changed file changes all.
    """
    paths = [path for place in PLACES for path in sorted(folder.glob(f"{place}/{CONFIG}"))]
    begun = [path.parent for path in paths if has_progress(path.parent)]
    for run in begun if corpus.drawn is None else begun[:1]:
        check_run(run, corpus)


def check_run(folder: Path, corpus: Corpus) -> None:
    """Refuse a run, finished or interrupted, that was made of other data than these."""
    for split in changed_splits(folder, corpus):
        raise UserError(
            f"{folder} is a run of other data: its {split} split was changed after the run was "
            "started; bring the data back, or choose another --runs"
        )


def changed_splits(folder: Path, corpus: Corpus) -> Iterator[str]:
    """Yield the splits of a run that have other data in its corpus now."""
    if not has_progress(folder) or not (folder / CONFIG).exists():
        return
    manifest, result = read(folder), read_result(folder)
    then = {**(manifest.data or {}), **(result.data if result else {})}
    data = corpus.of_seed(manifest.seed)
    yield from _differing(then, {split: data.digest(split) for split in then})


def check_alike(folders: Iterable[Path]) -> None:
    """Refuse runs of one task that were trained on other data than each other."""
    first: dict[str, tuple[Path, Manifest]] = {}
    for folder in folders:
        manifest = read(folder)
        other, theirs = first.setdefault(_task(manifest), (folder, manifest))
        for split in other_splits(theirs, manifest):
            raise UserError(
                f"{other} and {folder} are runs of one task on other data: their {split} splits "
                "differ, so their results are not put together; move one of them away"
            )


def other_splits(ours: Manifest, theirs: Manifest) -> Iterator[str]:
    """Yield the splits whose data differ between two runs that should have the same."""
    if _task(ours) == _task(theirs):
        yield from _differing(ours.data or {}, theirs.data or {})


def _task(manifest: Manifest) -> str:
    """Return what a run's data depend on beside files: the task, and a seed that draws them."""
    seed = manifest.seed if manifest.data_of_seed else None
    return json.dumps([manifest.settings.get("task"), seed], sort_keys=True)


def _differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[str]:
    for split, digest in ours.items():
        if theirs.get(split, digest) != digest:
            yield split
