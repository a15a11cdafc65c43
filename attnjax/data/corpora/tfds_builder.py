"""Parallel texts as a corpus of tensorflow-datasets, built without TensorFlow or a network."""

from collections.abc import Iterable, Mapping
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnjax.data.corpora.parallel_text import ParallelCorpus
from attnjax.errors import UserError
from attnjax.files import new_folder

if TYPE_CHECKING:
    from tensorflow_datasets.core.features import FeatureConnector

TFDS_NAMES = {"train": "train", "valid": "validation", "test": "test"}
VERSION = "1.0.0"

PER_SHARD, PER_WRITE = 500_000, 10_000
"""The rows of a file, and those that are written at once."""


def build_translation(
    task: ParallelCorpus, *, name: str, folder: str | Path, source: str, target: str
) -> None:
    """Write the pairs of a task, in their order, as a corpus that `Translation` reads.

    Args:
        task: whose splits are written as "train", "validation" and "test".
        name: of the corpus and its configuration, "mine/de-en".
        folder: of prepared corpora, see `Translation.folder`.
        source: the language of the sources, "en".
        target: the language of the targets, "de".

    Raises:
        UserError: the task's data are missing or malformed, or the corpus exists.
    """
    from tensorflow_datasets.core.features import Translation as Languages

    read = task.reader()
    splits = {
        TFDS_NAMES[split]: ({source: pair.source, target: pair.target} for pair in read(whole))
        for split, whole in task.split_names.items()
    }
    build(name, folder, Languages(languages=sorted((source, target))), splits)


def build(
    name: str,
    folder: str | Path,
    features: "FeatureConnector",
    splits: Mapping[str, Iterable[Mapping[str, Any]]],
) -> None:
    """Write rows as a corpus of tensorflow-datasets, in the format that needs no TensorFlow.

    The rows of each split are read once, keep their order and have the features.
    """
    from rich.progress import track
    from tensorflow_datasets.core import DatasetInfo, SequentialWriter, Version
    from tensorflow_datasets.core.dataset_info import DatasetIdentity

    from attnjax.console import PlainConsole

    above = Path(folder).expanduser() / name
    if any(above.glob("*/dataset_info.json")):
        raise UserError(f"{folder} has a corpus {name}: delete it, or choose another name")
    above.mkdir(parents=True, exist_ok=True)
    corpus, _, configuration = name.partition("/")
    console = PlainConsole(stderr=True)
    with new_folder(above / VERSION) as beside:
        identity = DatasetIdentity(
            name=corpus,
            version=Version(VERSION),
            data_dir=str(beside),
            module_name=__name__,
            config_name=configuration or None,
        )
        info = DatasetInfo(builder=identity, features=features)
        # unlike tensorflow-datasets' builders, it neither sorts nor keeps rows in memory
        writer = SequentialWriter(info, PER_SHARD, file_format="array_record")
        writer.initialize_splits(list(splits))
        for split, rows in splits.items():
            shown = track(rows, f"{name} {split}", console=console, disable=not console.is_terminal)
            for part in batched(shown, PER_WRITE):
                writer.add_examples({split: list(part)})
        writer.close_all()
