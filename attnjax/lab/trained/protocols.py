"""A trained run's answers under the protocols of machine translation's papers, side by side.

sacremoses is imported when something is tokenized: importing this module costs nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attnjax.data.corpus import ChangedTask, Task
from attnjax.data.moses import MosesVocabulary
from attnjax.data.special_tokens import UNKNOWN
from attnjax.data.vocabulary import Vocabulary, WordVocabulary
from attnjax.errors import UserError, unknown, warn
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.measures.perplexity import Perplexity
from attnjax.evaluation.metric import ChrF, ExactMatch
from attnjax.lab.trained.evaluate import evaluate
from attnjax.lab.trained.trained_run import Trained

COMPOUND = re.compile(r"(\S)-(\S)")
LANGUAGES = {
    "ca": "cat", "cs": "ces", "de": "deu", "el": "ell", "en": "eng", "es": "spa", "fi": "fin",
    "fr": "fra", "ga": "gle", "hu": "hun", "is": "isl", "it": "ita", "ja": "jpn", "ko": "kor",
    "lt": "lit", "lv": "lav", "nl": "nld", "pl": "pol", "pt": "por", "ro": "ron", "ru": "rus",
    "sk": "slk", "sl": "slv", "sv": "swe", "ta": "tam", "zh": "zho",
}  # fmt: skip
"""The languages whose rules Moses knows, by ISO 639-1, with their codes by ISO 639-3."""

TOKENIZERS: Mapping[str, Any] = {"zh": "zh", "ja": "char"}
"""sacrebleu's tokens for languages without spaces, all but its own for Japanese, which is large."""

PERPLEXITIES = {"a piece": "perplexity", "a word": "word_perplexity"}


@dataclass(frozen=True, kw_only=True)
class Protocols:
    """The scores by protocol; `known` are the sentences without an unknown word on either side."""

    sentences: int
    known: int
    scores: Mapping[str, float]
    known_scores: Mapping[str, float]
    language: str
    signature: str


def protocols(
    trained: Trained,
    *,
    split: str = "test",
    beam: int | None = None,
    language: str | None = None,
) -> Protocols:
    """Score a run's answers to a split by every protocol; perplexity is that of the references.

    `language` is as in `protocol_scores`; None: that of the target's vocabulary, or the one that
    the task names its targets by, such as "fr" of the files `train.tok.fr`, or else, with a
    warning, "en".

    Raises:
        UserError: as `evaluate`; or the targets are no sentences, or there is no such language.
    """
    if language is not None and language not in LANGUAGES:
        raise unknown("language", language, LANGUAGES)
    task, vocabulary = trained.experiment.task, trained.text("target")
    if task.answers != "text":
        raise UserError(f"protocols score sentences of text; those of {trained.folder} are none")
    answered = evaluate(trained, split=split, beam=beam)
    corpus = task.load(trained.vocabularies)
    examples, references = corpus.splits[split], corpus.references[split]
    known = [
        number
        for number, example in enumerate(examples)
        if UNKNOWN not in [*example.source, *example.target]
    ]
    language = language or _target_language(task, vocabulary) or _english(task)
    options = {"tokenized": isinstance(vocabulary, WordVocabulary), "language": language}
    scores = protocol_scores(answered.answers, references, **options)
    experiment = replace(trained.experiment, metric=None, measures=(Perplexity(),))
    measured = evaluate(replace(trained, experiment=experiment), split=split).metrics
    scores |= {f"perplexity, {name}": measured[key] for name, key in PERPLEXITIES.items()}
    subset = [[side[number] for number in known] for side in (answered.answers, references)]
    bleu = _sacrebleu(language)
    return Protocols(
        sentences=len(references),
        known=len(known),
        scores=scores,
        known_scores=protocol_scores(*subset, **options) if known else {},
        language=language,
        signature=bleu.details(bleu.statistics(["a"], ["a"]).sum(0))["signature"],
    )


def _english(task: Task) -> str:
    """Return the code of English, with a warning: its rules are those of an unknown language."""
    name = getattr(_inner(task), "target", None)
    named = f"their name, {name!r}, is of none" if name else "they have no name"
    warn(
        f"the language of the targets is unknown, because {named}: their words are found by the "
        f"rules of English; --language takes one of {', '.join(LANGUAGES)}"
    )
    return "en"


def _inner(task: Task) -> Task:
    """Return the task that the data of a changed one are of."""
    while isinstance(task, ChangedTask):
        task = task.task
    return task


def _target_language(task: Task, vocabulary: Vocabulary) -> str | None:
    """Return the language that the vocabulary or the name of a task's targets says."""
    if isinstance(vocabulary, MosesVocabulary):
        return vocabulary.language
    return named_language(str(getattr(_inner(task), "target", "")))


def named_language(name: str) -> str | None:
    """Return the last language in a suffix or a key: "fr" of "lc.norm.tok.fr"; None: none."""
    codes = {code: own for own, longer in LANGUAGES.items() for code in (own, longer)}
    words = re.findall("[A-Za-z]+", name)
    # "fr_CA": the capitals are a country's, of which some are letters of another language
    for spelled in (words, [word.lower() for word in words]):
        if languages := [codes[word] for word in spelled if word in codes]:
            return languages[-1]
    return None


def _sacrebleu(language: str) -> Bleu:
    """Return BLEU of detokenized text, by the tokens that sacrebleu takes for a language."""
    return Bleu(tokenize=TOKENIZERS.get(language, "13a"))


def protocol_scores(
    answers: Sequence[str], references: Sequence[str], *, tokenized: bool, language: str
) -> dict[str, float]:
    """Return the score of each protocol by its name.

        sacreBLEU           of detokenized text, with 13a's tokens, case counts (Post 2018); of
                            Chinese and Japanese with their characters
        mteval-v13a         the same without case, as NIST's script by default
        multi-bleu          of the Moses tokens, not smoothed
        multi-bleu, compounds   hyphens between letters are tokens, as Vaswani et al. 2017 scored
        chrF, exact match   of detokenized text

    `tokenized` says whether the texts are split into Moses tokens already; `language` is one of
    LANGUAGES, for the rules of Moses.
    """
    from sacremoses import MosesDetokenizer, MosesTokenizer

    tokens = plain = (answers, references)
    if tokenized:
        joiner = MosesDetokenizer(lang=language)
        plain = tuple([joiner.detokenize(text.split()) for text in side] for side in tokens)
    else:
        splitter = MosesTokenizer(lang=language)
        tokens = tuple(
            [" ".join(splitter.tokenize(text, escape=False)) for text in side] for side in plain
        )
    lower = tuple([text.lower() for text in side] for side in plain)
    split = tuple([COMPOUND.sub(r"\1 ##AT##-##AT## \2", text) for text in side] for side in tokens)
    sacrebleu, multi_bleu = _sacrebleu(language), Bleu(tokenize="none", smooth="none")
    return {
        "sacreBLEU": sacrebleu.score(*plain),
        "mteval-v13a": sacrebleu.score(*lower),
        "multi-bleu": multi_bleu.score(*tokens),
        "multi-bleu, compounds": multi_bleu.score(*split),
        "chrF": ChrF().score(*plain),
        "exact match": ExactMatch().score(*plain),
    }
