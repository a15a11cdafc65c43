"""Rehearsals: a training step compiled for TPUs and GPUs that are not here, and its costs there."""

from attnjax.rehearsal.chips import CHIPS, Chip, Topology
from attnjax.rehearsal.rehearsal import Rehearsal, rehearse

__all__ = ["CHIPS", "Chip", "Rehearsal", "Topology", "rehearse"]
