"""Tasks that are read from files or from TensorFlow Datasets."""

from attnjax.data.corpora.coco import Coco as Coco
from attnjax.data.corpora.held_out import WithHeldOut as WithHeldOut
from attnjax.data.corpora.labeled import (
    Labeled as Labeled,
    MovieReviews as MovieReviews,
    Trec as Trec,
)
from attnjax.data.corpora.labeled_file import LabeledFile as LabeledFile
from attnjax.data.corpora.parallel_text import (
    Forward as Forward,
    JsonLines as JsonLines,
    PairsInLines as PairsInLines,
    ParallelCorpus as ParallelCorpus,
    ParallelText as ParallelText,
    Reversed as Reversed,
    SourceOrder as SourceOrder,
    TabSeparated as TabSeparated,
)
from attnjax.data.corpora.raw_text import RawText as RawText, TextStream as TextStream
from attnjax.data.corpora.scan import Scan as Scan
from attnjax.data.corpora.sentences import (
    LearnedFrom as LearnedFrom,
    SentencePairs as SentencePairs,
    Unlabeled as Unlabeled,
)
from attnjax.data.corpora.tfds import Translation as Translation
from attnjax.data.corpora.tfds_builder import build_translation as build_translation
from attnjax.data.corpora.tfds_texts import LabeledTfds as LabeledTfds, RawTfds as RawTfds
