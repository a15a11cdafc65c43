"""Tasks, their vocabularies, and batches of their examples.

A `Task` is a part of an experiment; its `load` gives a `Corpus`, whose examples `Batching` puts in
batches, NumPy arrays on the host. Nothing here imports JAX, or reads from disk before `load`.
"""

from attnjax.data.batch_plan import (
    Batch as Batch,
    BatchPlan as BatchPlan,
    PackedBatch as PackedBatch,
    Packing as Packing,
)
from attnjax.data.batching import Batching as Batching, in_order as in_order
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
    TabSeparated as TabSeparated,
)
from attnjax.data.corpora.raw_text import RawText as RawText, TextStream as TextStream
from attnjax.data.corpora.scan import Scan as Scan, ScanByActions as ScanByActions
from attnjax.data.corpora.sentences import (
    LearnedFrom as LearnedFrom,
    SentencePairs as SentencePairs,
    Unlabeled as Unlabeled,
)
from attnjax.data.corpora.tfds import Translation as Translation
from attnjax.data.corpora.tfds_texts import LabeledTfds as LabeledTfds, RawTfds as RawTfds
from attnjax.data.corpus import (
    Corpus as Corpus,
    Example as Example,
    Task as Task,
    build as build,
    ids as ids,
)
from attnjax.data.examples import Encoded as Encoded, Examples as Examples, Rows as Rows
from attnjax.data.files import (
    each_line as each_line,
    find_file as find_file,
    find_folder as find_folder,
    read_lines as read_lines,
    read_text as read_text,
)
from attnjax.data.generated.adding_problem import AddingProblem as AddingProblem
from attnjax.data.generated.addition import Addition as Addition
from attnjax.data.generated.bigram_copy import BigramBackcopy as BigramBackcopy
from attnjax.data.generated.counter_languages import (
    BooleanExpression as BooleanExpression,
    CounterLanguage as CounterLanguage,
    EqualBlocks as EqualBlocks,
    NextSymbols as NextSymbols,
    ShuffledBrackets as ShuffledBrackets,
)
from attnjax.data.generated.dates import Dates as Dates
from attnjax.data.generated.in_context_regression import (
    InContextRegression as InContextRegression,
)
from attnjax.data.generated.induction import (
    DictionaryRecall as DictionaryRecall,
    InductionHead as InductionHead,
)
from attnjax.data.generated.labeled_places import (
    Drawn as Drawn,
    LabeledPlaces as LabeledPlaces,
    distinct as distinct,
)
from attnjax.data.generated.max_retrieval import MaxRetrieval as MaxRetrieval
from attnjax.data.generated.modular_division import ModularDivision as ModularDivision
from attnjax.data.generated.recall import MultiQueryRecall as MultiQueryRecall
from attnjax.data.generated.regression import NoisyFunction as NoisyFunction
from attnjax.data.generated.regular_languages import (
    CycleNavigation as CycleNavigation,
    Ending as Ending,
    EvenOnes as EvenOnes,
    EvenPairs as EvenPairs,
    ModularArithmetic as ModularArithmetic,
    Parity as Parity,
    RegularLanguage as RegularLanguage,
    Repeated as Repeated,
)
from attnjax.data.generated.rewritten_strings import (
    DuplicateString as DuplicateString,
    ReverseString as ReverseString,
    RewrittenString as RewrittenString,
)
from attnjax.data.generated.sequences import (
    AssociativeRecall as AssociativeRecall,
    Copy as Copy,
    Generated as Generated,
    Reverse as Reverse,
    Sequences as Sequences,
    Sort as Sort,
    Zip as Zip,
)
from attnjax.data.generated.shapes import Shapes as Shapes
from attnjax.data.moses import MosesVocabulary as MosesVocabulary, MosesWords as MosesWords
from attnjax.data.packed import Packed as Packed, PackedPlan as PackedPlan
from attnjax.data.per_seed import DatasetPerSeed as DatasetPerSeed
from attnjax.data.sentencepiece import (
    SentencePiece as SentencePiece,
    SentencePieceVocabulary as SentencePieceVocabulary,
)
from attnjax.data.shuffled import Shuffled as Shuffled
from attnjax.data.special_tokens import END as END, PAD as PAD, START as START, UNKNOWN as UNKNOWN
from attnjax.data.text_task import SourceOrder as SourceOrder
from attnjax.data.vocabularies import (
    SavedVocabulary as SavedVocabulary,
    Vocabularies as Vocabularies,
    joint as joint,
    load_vocabularies as load_vocabularies,
)
from attnjax.data.vocabulary import (
    Characters as Characters,
    CharacterVocabulary as CharacterVocabulary,
    Labels as Labels,
    LabelVocabulary as LabelVocabulary,
    SplitWords as SplitWords,
    Vocabulary as Vocabulary,
    VocabularyPart as VocabularyPart,
    WordVocabulary as WordVocabulary,
)
from attnjax.data.with_test import WithTest as WithTest
from attnjax.data.wordpiece import (
    WordPiece as WordPiece,
    WordPieceVocabulary as WordPieceVocabulary,
)
