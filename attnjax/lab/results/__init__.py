"""Results: finished runs as records, judged together: rows, claims and verdicts."""

from attnjax.lab.results.folder import rows as rows, summarize as summarize
from attnjax.lab.results.judging import judge as judge
from attnjax.lab.results.lines import read_records as read_records
from attnjax.lab.results.read import read_runs as read_runs
