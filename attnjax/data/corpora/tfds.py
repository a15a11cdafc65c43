"""Parallel corpora of tensorflow-datasets, without TensorFlow.

A corpus must already be prepared, in the format array_record. A corpus that is not prepared is not
downloaded: without a network its builder would try for minutes.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import batched, chain
from pathlib import Path
from typing import Any

from attnjax.data.corpora.parallel_text import ParallelCorpus
from attnjax.data.corpus import Example
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.vocabulary import VocabularyPart
from attnjax.errors import NoCorpus, UserError

DOWNLOADS = {
    "coco_captions/2014": "40.4 GB",
    "glue/sst2": "7 MB",
    "imdb_reviews/plain_text": "84 MB",
    "lm1b": "1.8 GB",
    "opus/medical": "36 MB",
    "ted_hrlr_translate": "131 MB",
    "wmt14_translate/de-en": "1.7 GB",
    "wmt14_translate/fr-en": "6.7 GB",
}
"""What the preparation of a corpus downloads: the sizes in tensorflow-datasets' lists of files."""

NEWS = {
    "wmt14_translate": {"validation": "newstest2013", "test": "newstest2014"},
    "wmt16_translate": {"test": "newstest2016"},
}
"""The news sets that are WMT's splits. newstest2014 into German has 3,003 sentences, sacreBLEU's
wmt14/full; some papers score the 2,737 of the official evaluation, sacreBLEU's wmt14."""

NEED_TENSORFLOW = ("c4", "coco_captions", "lm1b", "multi_nli")
"""Corpora that only TensorFlow prepares; once prepared they are read without it."""

AT_ONCE = 100
"""The rows that are read at once; with pictures they may be large."""


@dataclass(frozen=True, kw_only=True)
class Translation(ParallelCorpus):
    """A corpus of tensorflow-datasets whose examples have a text in each language.

    Attributes:
        name: the name of the corpus and its configuration in tensorflow-datasets.
        source: the language of the source, as the corpus names it; target likewise.
        train: the training split, or a part of it: "train[:1000]"; valid and test likewise.
        folder: the folder of the prepared corpora; None: the folder that the environment variable
            TFDS_DATA_DIR names, or else ~/tensorflow_datasets.
    """

    name: str = "wmt14_translate/de-en"
    source: str = "en"
    target: str = "de"
    valid: str | None = "validation"
    folder: str | None = None
    vocabulary: VocabularyPart = SentencePiece(size=32_000)

    def split_name(self, split: str) -> str:
        name = super().split_name(split)
        news = NEWS.get(self.name.partition("/")[0], {}).get(name)
        return f"{self.name} {name}" + (f" ({news})" if news else "")

    def reader(self) -> Callable[[str], Iterator[Example]]:
        languages = {self.source: "source", self.target: "target"}
        return partial(self._examples, open_prepared(self.name, self.folder, languages))

    def files(self, split: str) -> list[Path]:
        del split  # may be a sum of splits: all are in one folder
        return sorted(find_prepared(self.name, self.folder).glob("*.array_record*"))

    def _examples(self, builder: Any, split: str) -> Iterator[Example]:
        for row in read_split(builder, split):
            yield Example(row[self.source].decode(), row[self.target].decode())


def open_prepared(name: str, folder: str | None, features: Mapping[str, str]) -> Any:
    """Open a prepared corpus that has these features, each given by a field of the task."""
    prepared = find_prepared(name, folder)
    import tensorflow_datasets

    builder: Any = tensorflow_datasets.builder_from_directory(prepared)
    form = builder.info.file_format
    if form is None or form.value != "array_record":
        raise UserError(
            f"{prepared} has files in the format {form and form.value}, not array_record. "
            f"{how_to_prepare(name, folder)}"
        )
    for feature, field in features.items():
        if feature not in builder.info.features:
            known = ", ".join(builder.info.features)
            raise UserError(f"{name} has {known}, and no {feature!r} (task.{field})")
    return builder


def read_split(builder: Any, split: str) -> Iterator[Any]:
    """Yield the rows of a split, in order; several are read from disk at once."""
    try:
        rows = builder.as_data_source(split=split)
    except ValueError as error:  # no such split, a slice that cannot be read, or an empty one
        known, reason = ", ".join(builder.info.splits), str(error).splitlines()[0]
        raise UserError(
            f"{builder.info.full_name.rsplit('/', 1)[0]} has no split {split!r} with examples "
            f"(it has {known}): {reason}"
        ) from error
    for numbers in batched(range(len(rows)), AT_ONCE):
        # one by one they take sixteen times as long
        yield from rows.__getitems__(numbers)


def find_prepared(name: str, folder: str | None) -> Path:
    """Find the folder of the newest prepared version of a corpus."""
    above = data_folder(folder)
    versions = [path.parent for path in (above / name).glob("*.*.*/dataset_info.json")]
    if not versions:
        # NAME/VERSION or NAME/CONFIGURATION/VERSION; not **, which would walk through downloads
        infos = (above.glob(f"{levels}/*.*.*/dataset_info.json") for levels in ("*", "*/*"))
        here = sorted({str(path.parents[1].relative_to(above)) for path in chain(*infos)})
        known = f", which has {', '.join(here)}" if here else ""
        raise NoCorpus(
            f"the corpus {name} is not in {above}{known}. {how_to_prepare(name, folder)}"
        )
    return max(versions, key=lambda path: [int(number) for number in path.name.split(".")])


def data_folder(folder: str | None) -> Path:
    """Return the folder of prepared corpora, see `Translation.folder`."""
    given = folder or os.environ.get("TFDS_DATA_DIR", "~/tensorflow_datasets")
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise NoCorpus(f"{given}: {error}; TFDS_DATA_DIR names another folder") from error


def how_to_prepare(name: str, folder: str | None) -> str:
    """Describe how to prepare a corpus, and what that requires."""
    corpus = name.partition("/")[0]
    size = DOWNLOADS.get(name) or DOWNLOADS.get(corpus)
    takes = f" (it downloads {size})" if size else ""
    needs = ", with TensorFlow (pip install tensorflow)"
    # wmt14_translate and others are "not found" unless these two modules are imported first
    return (
        f"Where there is a network, prepare it{needs if corpus in NEED_TENSORFLOW else ''}{takes} "
        'by python -c "import tensorflow_datasets as tfds, tensorflow_datasets.translate, '
        f"tensorflow_datasets.text; tfds.builder('{name}', data_dir='{data_folder(folder)}', "
        "file_format='array_record').download_and_prepare()\""
    )
