"""Tasks, their vocabularies, and batches of their examples.

A `Task` is a part of an experiment; its `load` gives a `Corpus`: vocabularies, encoded splits, and
the references that answers are scored against. `Batching` puts encoded examples into batches of a
few fixed shapes, NumPy arrays on the host. Nothing here imports JAX, and nothing is read from disk
before `load`.
"""

from attnjax.data.batching import Batch, Batching, BatchPlan, in_order
from attnjax.data.corpora import (
    Coco,
    Forward,
    Labeled,
    LabeledFile,
    LearnedFrom,
    MovieReviews,
    ParallelCorpus,
    ParallelText,
    RawText,
    Reversed,
    Scan,
    SentencePairs,
    SourceOrder,
    TabSeparated,
    Translation,
    Trec,
    Unlabeled,
    WithHeldOut,
)
from attnjax.data.corpus import Corpus, Encoded, Example, Task, build, ids
from attnjax.data.files import find_file, find_folder, read_lines, read_text
from attnjax.data.generated import (
    AssociativeRecall,
    Copy,
    Dates,
    Generated,
    NoisyFunction,
    Reverse,
    Sequences,
    Shapes,
    Sort,
)
from attnjax.data.moses import MosesVocabulary, MosesWords
from attnjax.data.per_seed import DatasetPerSeed
from attnjax.data.sentencepiece import SentencePiece, SentencePieceVocabulary
from attnjax.data.shuffled import Shuffled
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.data.vocabularies import SavedVocabulary, Vocabularies, joint, load_vocabularies
from attnjax.data.vocabulary import (
    Characters,
    CharacterVocabulary,
    Labels,
    LabelVocabulary,
    SplitWords,
    Vocabulary,
    VocabularyPart,
    WordVocabulary,
)
from attnjax.data.with_test import WithTest
from attnjax.data.wordpiece import WordPiece, WordPieceVocabulary

__all__ = [
    "END",
    "PAD",
    "START",
    "UNKNOWN",
    "AssociativeRecall",
    "Batch",
    "BatchPlan",
    "Batching",
    "CharacterVocabulary",
    "Characters",
    "Coco",
    "Copy",
    "Corpus",
    "DatasetPerSeed",
    "Dates",
    "Encoded",
    "Example",
    "Forward",
    "Generated",
    "LabelVocabulary",
    "Labeled",
    "LabeledFile",
    "Labels",
    "LearnedFrom",
    "MosesVocabulary",
    "MosesWords",
    "MovieReviews",
    "NoisyFunction",
    "ParallelCorpus",
    "ParallelText",
    "RawText",
    "Reverse",
    "Reversed",
    "SavedVocabulary",
    "Scan",
    "SentencePairs",
    "SentencePiece",
    "SentencePieceVocabulary",
    "Sequences",
    "Shapes",
    "Shuffled",
    "Sort",
    "SourceOrder",
    "SplitWords",
    "TabSeparated",
    "Task",
    "Translation",
    "Trec",
    "Unlabeled",
    "Vocabularies",
    "Vocabulary",
    "VocabularyPart",
    "WithHeldOut",
    "WithTest",
    "WordPiece",
    "WordPieceVocabulary",
    "WordVocabulary",
    "build",
    "find_file",
    "find_folder",
    "ids",
    "in_order",
    "joint",
    "load_vocabularies",
    "read_lines",
    "read_text",
]
