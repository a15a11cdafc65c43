"""Tasks that are read from files or from TensorFlow Datasets."""

from attnjax.data.corpora.coco import Coco
from attnjax.data.corpora.held_out import WithHeldOut
from attnjax.data.corpora.labeled import Labeled, MovieReviews, Trec
from attnjax.data.corpora.labeled_file import LabeledFile
from attnjax.data.corpora.parallel_text import (
    Forward,
    ParallelCorpus,
    ParallelText,
    Reversed,
    SourceOrder,
    TabSeparated,
)
from attnjax.data.corpora.raw_text import RawText
from attnjax.data.corpora.scan import Scan
from attnjax.data.corpora.sentences import LearnedFrom, SentencePairs, Unlabeled
from attnjax.data.corpora.tfds import Translation

__all__ = [
    "Coco",
    "Forward",
    "Labeled",
    "LabeledFile",
    "LearnedFrom",
    "MovieReviews",
    "ParallelCorpus",
    "ParallelText",
    "RawText",
    "Reversed",
    "Scan",
    "SentencePairs",
    "SourceOrder",
    "TabSeparated",
    "Translation",
    "Trec",
    "Unlabeled",
    "WithHeldOut",
]
