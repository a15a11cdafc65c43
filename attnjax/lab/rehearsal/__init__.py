"""Rehearsals: a training step compiled for TPUs and GPUs that are not here, and its costs."""

from attnjax.lab.rehearsal.chips import CHIPS as CHIPS, Chip as Chip, Topology as Topology
from attnjax.lab.rehearsal.rehearsal import Rehearsal as Rehearsal, rehearse as rehearse
