"""Results: the finished runs of an experiment together, its claims and verdicts."""

from attnjax.results.run_rows import rows as rows
from attnjax.results.summary import summarize as summarize
