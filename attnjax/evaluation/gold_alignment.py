"""The alignment error rate against gold alignments with sure and possible links."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnjax.data.files import find_file, read_lines
from attnjax.data.vocabulary import Vocabulary, split_at_spaces
from attnjax.errors import UserError

type Link = tuple[int, int]
"""The numbers of a source word and of a target word, from 0."""


class GoldLinks(NamedTuple):
    """The gold alignment of a pair of sentences; sure links are possible ones, too."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def read_pharaoh(file: str | Path) -> list[GoldLinks]:
    """Read the links of a file in Pharaoh's format: `0-0 1-2 3p4`; `p` or `?`: a possible link."""
    path, gold = find_file(file), []
    for number, line in enumerate(read_lines(path), start=1):
        links = [re.fullmatch(r"(\d+)([-p?])(\d+)", word) for word in line.split()]
        if not all(links):
            raise UserError(f"{path}, line {number}: a link is such as 0-0, or 3p4; got {line!r}")
        pairs = [(link[2], (int(link[1]), int(link[3]))) for link in links if link]
        sure = frozenset(pair for mark, pair in pairs if mark == "-")
        gold.append(GoldLinks(sure, frozenset(pair for _, pair in pairs)))
    return gold


def links(weights: np.ndarray, sources: Sequence[int], targets: Sequence[int]) -> frozenset[Link]:
    """Link the word of every target piece to that of its strongest source piece.

    `sources` and `targets` are the numbers of the pieces' words; the weights [T, S] have rows and
    columns beyond the pieces, such as END.
    """
    strongest = weights[: len(targets), : len(sources)].argmax(-1)
    return frozenset(
        (sources[piece], word) for piece, word in zip(strongest.tolist(), targets, strict=True)
    )


def words_of(vocabulary: Vocabulary, pieces: Sequence[int]) -> list[int]:
    """Return the number of the word that each piece belongs to, subwords joined."""
    names = vocabulary.tokens(pieces)
    texts = (vocabulary.merge(names[: count + 1]) for count in range(len(names)))
    return [max(0, len(split_at_spaces(text)) - 1) for text in texts]


def alignment_error_rate(pairs: Iterable[tuple[frozenset[Link], GoldLinks]]) -> float:
    """Return AER = 1 - (|A & S| + |A & P|) / (|A| + |S|), counted over all sentences.

    Source: Och & Ney 2003, section 6.1.
    """
    right = total = 0
    for made, (sure, possible) in pairs:
        right += len(made & sure) + len(made & possible)
        total += len(made) + len(sure)
    if not total:
        raise UserError("an alignment error rate needs links; there are none")
    return 1 - right / total
