"""Results: finished runs as records, judged together: rows, claims and verdicts."""

from attnjax.results.folder import rows as rows, summarize as summarize
from attnjax.results.judging import judge as judge
from attnjax.results.lines import read_records as read_records
from attnjax.results.read import read_runs as read_runs
