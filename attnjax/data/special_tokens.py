"""The four symbols every vocabulary starts with, and the one that stands behind its last."""

PAD, START, END, UNKNOWN = 0, 1, 2, 3


def mask_symbol(vocabulary: int) -> int:
    """The id of MASK, which a masked language model reads in place of a word it is to predict.

    It is the first id behind a vocabulary of this size, so no text has it and no id depends on it.
    """
    return vocabulary
