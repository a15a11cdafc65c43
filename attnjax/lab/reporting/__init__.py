"""Reports of an experiment: a table for the terminal, a page with figures for everyone else."""

from attnjax.lab.reporting.page import write as write
from attnjax.lab.reporting.table import plain as plain, table as table
