"""Decoding: greedy and beam search, sampling, and the search for a label, over any `SequenceModel`.

`attnjax.decoding.generate.generate` decodes a batch of sources with a search.
"""

from attnjax.decoding.beam import Beam as Beam
from attnjax.decoding.greedy import Greedy as Greedy
from attnjax.decoding.label import Label as Label
from attnjax.decoding.length_penalty import (
    GNMT as GNMT,
    LengthPenalty as LengthPenalty,
    NoPenalty as NoPenalty,
    Power as Power,
)
from attnjax.decoding.sample import Sample as Sample
from attnjax.decoding.search import Hypotheses as Hypotheses, Search as Search
