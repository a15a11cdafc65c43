"""A trained run's answers under the protocols of machine translation's papers, side by side.

sacremoses is imported when something is tokenized: importing this module costs nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from attnjax.data.special_tokens import UNKNOWN
from attnjax.data.vocabulary import WordVocabulary
from attnjax.errors import UserError
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.measures.perplexity import Perplexity
from attnjax.evaluation.metric import ChrF, ExactMatch
from attnjax.trained.evaluate import evaluate
from attnjax.trained.trained_run import Trained

COMPOUND = re.compile(r"(\S)-(\S)")
PERPLEXITIES = {"a piece": "perplexity", "a word": "word_perplexity"}


@dataclass(frozen=True, kw_only=True)
class Protocols:
    """The scores by protocol; `known` are the sentences without an unknown word on either side."""

    sentences: int
    known: int
    scores: Mapping[str, float]
    known_scores: Mapping[str, float]
    signature: str


def protocols(trained: Trained, *, split: str = "test", beam: int | None = None) -> Protocols:
    """Score a run's answers to a split by every protocol; perplexity is that of the references.

    Raises:
        UserError: as `evaluate`; or the targets are no sentences.
    """
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
    options = {
        "tokenized": isinstance(vocabulary, WordVocabulary),
        "language": str(getattr(task, "target", "en"))[:2],
    }
    scores = protocol_scores(answered.answers, references, **options)
    experiment = replace(trained.experiment, metric=None, measures=(Perplexity(),))
    measured = evaluate(replace(trained, experiment=experiment), split=split).metrics
    scores |= {f"perplexity, {name}": measured[key] for name, key in PERPLEXITIES.items()}
    subset = [[side[number] for number in known] for side in (answered.answers, references)]
    return Protocols(
        sentences=len(references),
        known=len(known),
        scores=scores,
        known_scores=protocol_scores(*subset, **options) if known else {},
        signature=Bleu().details(Bleu().statistics(["a"], ["a"]).sum(0))["signature"],
    )


def protocol_scores(
    answers: Sequence[str], references: Sequence[str], *, tokenized: bool, language: str
) -> dict[str, float]:
    """The score of each protocol by its name.

        sacreBLEU           of detokenized text, with 13a's tokens, case counts (Post 2018)
        mteval-v13a         the same without case, as NIST's script by default
        multi-bleu          of the Moses tokens, not smoothed
        multi-bleu, compounds   hyphens between letters are tokens, as Vaswani et al. 2017 scored
        chrF, exact match   of detokenized text

    `tokenized` says whether the texts are split into Moses tokens already; `language` has two
    letters, for the rules of Moses.
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
    multi_bleu = Bleu(tokenize="none", smooth="none")
    return {
        "sacreBLEU": Bleu().score(*plain),
        "mteval-v13a": Bleu().score(*lower),
        "multi-bleu": multi_bleu.score(*tokens),
        "multi-bleu, compounds": multi_bleu.score(*split),
        "chrF": ChrF().score(*plain),
        "exact match": ExactMatch().score(*plain),
    }
