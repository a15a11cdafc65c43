"""Reports of an experiment: a table for the terminal, a page with figures for everyone else."""

from attnjax.reporting.page import write
from attnjax.reporting.summary import ClaimRow, Column, PublishedRow, Row, Summary, TuningRow
from attnjax.reporting.table import plain, table

__all__ = [
    "ClaimRow",
    "Column",
    "PublishedRow",
    "Row",
    "Summary",
    "TuningRow",
    "plain",
    "table",
    "write",
]
