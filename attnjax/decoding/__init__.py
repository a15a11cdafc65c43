"""Decoding: greedy search, beam search and the search for a label, over any `SequenceModel`.

`attnjax.decoding.generate.generate` decodes a batch of sources with a search.
"""

from attnjax.decoding.label import Label
from attnjax.decoding.length_penalty import GNMT, LengthPenalty, NoPenalty, Power
from attnjax.decoding.search import Beam, Greedy, Hypotheses, Search

__all__ = [
    "GNMT",
    "Beam",
    "Greedy",
    "Hypotheses",
    "Label",
    "LengthPenalty",
    "NoPenalty",
    "Power",
    "Search",
]
