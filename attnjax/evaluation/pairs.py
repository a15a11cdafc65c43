"""Every measure of outputs compares them one by one with references."""

from collections.abc import Sequence

from attnjax.errors import UserError


def check_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what has nothing to compare, or no partner.

    Raises:
        UserError: on different counts (both are named), and when there is nothing at all.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            "one hypothesis for each reference was wanted; "
            f"got {len(hypotheses)} hypotheses and {len(references)} references"
        )
    if not references:
        raise UserError("at least one hypothesis and its reference were wanted; got none")
