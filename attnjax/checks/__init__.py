"""Checks of the properties that every attention, every norm and every model must have."""

from attnjax.checks.attention import check_attention
from attnjax.checks.finding import Finding
from attnjax.checks.model import check_model
from attnjax.checks.norm import check_norm

__all__ = ["Finding", "check_attention", "check_model", "check_norm"]
