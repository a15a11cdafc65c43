"""Checks of the properties that every attention, every norm and every model must have."""

from attnjax.lab.checks.attention import NARROW as NARROW, check_attention as check_attention
from attnjax.lab.checks.coordinates import (
    coordinate_changes as coordinate_changes,
    coordinate_growth as coordinate_growth,
)
from attnjax.lab.checks.finding import Finding as Finding
from attnjax.lab.checks.model import check_model as check_model
from attnjax.lab.checks.norm import check_norm as check_norm
