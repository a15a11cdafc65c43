"""Parallel texts as a corpus of tensorflow-datasets, built without TensorFlow or a network."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnjax.data.corpora.parallel_text import ParallelCorpus
from attnjax.errors import UserError

if TYPE_CHECKING:
    from tensorflow_datasets.core.features import FeatureConnector

TFDS_NAMES = {"train": "train", "valid": "validation", "test": "test"}


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
    build(
        name,
        folder,
        Languages(languages=sorted((source, target))),
        {
            TFDS_NAMES[split]: ({source: pair.source, target: pair.target} for pair in read(whole))
            for split, whole in task.split_names.items()
        },
    )


def build(
    name: str,
    folder: str | Path,
    features: "FeatureConnector",
    splits: Mapping[str, Iterable[Mapping[str, Any]]],
) -> None:
    """Write rows as a corpus of tensorflow-datasets, in the format that needs no TensorFlow.

    Args:
        name: of the corpus and its configuration.
        folder: of prepared corpora.
        features: of a row.
        splits: the rows of each split, which are read once and keep their order.

    Raises:
        UserError: the corpus exists.
    """
    from tensorflow_datasets.core import BuilderConfig, DatasetInfo, GeneratorBasedBuilder, Version

    corpus, _, configuration = name.partition("/")
    if any(Path(folder).expanduser().glob(f"{name}/*/dataset_info.json")):
        raise UserError(f"{folder} has a corpus {name}: delete it, or choose another name")

    class Rows(GeneratorBasedBuilder, skip_registration=True):
        name = corpus
        VERSION = Version("1.0.0")
        BUILDER_CONFIGS = (
            [BuilderConfig(name=configuration, version=VERSION)] if configuration else []
        )

        def _info(self) -> DatasetInfo:
            return DatasetInfo(builder=self, features=features, disable_shuffling=True)

        def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
            del dl_manager
            return {split: enumerate(rows) for split, rows in splits.items()}

        def _generate_examples(self) -> None:
            """Not called: the splits are rows already."""

    builder = Rows(data_dir=folder, config=configuration or None, file_format="array_record")
    builder.download_and_prepare()
