"""The share of outputs that are right in every symbol."""

from collections.abc import Sequence

from attnjax.evaluation.pairs import check_pairs


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The share of hypotheses that equal their reference, in [0, 1].

    Raises:
        UserError: on different counts, or nothing to compare.
    """
    check_pairs(hypotheses, references)
    right = sum(
        hypothesis == reference
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    )
    return right / len(references)
