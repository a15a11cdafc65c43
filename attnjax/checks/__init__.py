"""Checks of the properties that every attention, every norm and every model must have."""

from attnjax.checks.attention import NARROW as NARROW, check_attention as check_attention
from attnjax.checks.coordinates import (
    coordinate_changes as coordinate_changes,
    coordinate_growth as coordinate_growth,
)
from attnjax.checks.finding import Finding as Finding
from attnjax.checks.model import check_model as check_model
from attnjax.checks.norm import check_norm as check_norm
