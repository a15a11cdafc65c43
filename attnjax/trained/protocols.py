"""A trained run's answers under every protocol, with unknown words and without."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from attnjax.data.special_tokens import UNKNOWN
from attnjax.data.vocabulary import WordVocabulary
from attnjax.errors import UserError
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.measures.perplexity import Perplexity
from attnjax.evaluation.protocols import protocol_scores
from attnjax.trained.evaluate import evaluate
from attnjax.trained.trained_run import Trained

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
    scores = dict(protocol_scores(answered.answers, references, **options))
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
