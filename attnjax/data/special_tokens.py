"""The four symbols that every vocabulary starts with, and the one after its last."""

PAD, START, END, UNKNOWN = 0, 1, 2, 3


def mask_symbol(vocabulary: int) -> int:
    """Return the id of MASK, which a masked language model reads instead of a word to predict.

    It is the first id after a vocabulary of this size, so no text has it and no id depends on it.
    """
    return vocabulary
