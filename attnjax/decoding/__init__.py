"""Decoding: greedy and beam search, sampling, and the search for a label, over any `SequenceModel`.

`attnjax.decoding.generate.generate` decodes a batch of sources with a search.
"""

from attnjax.decoding.beam import Beam
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.label import Label
from attnjax.decoding.length_penalty import GNMT, LengthPenalty, NoPenalty, Power
from attnjax.decoding.sample import Sample
from attnjax.decoding.search import Hypotheses, Search

__all__ = [
    "GNMT",
    "Beam",
    "Greedy",
    "Hypotheses",
    "Label",
    "LengthPenalty",
    "NoPenalty",
    "Power",
    "Sample",
    "Search",
]
