"""Finished runs as rows of a table: `pandas.DataFrame(attnjax.results.rows("runs/luong2015"))`."""

from pathlib import Path
from typing import Any

from attnjax.evaluation.measurement import Measurement
from attnjax.results.summary import experiments
from attnjax.runs.result import finished_runs, read_result


def rows(runs: str | Path) -> list[dict[str, Any]]:
    """A dict for each finished run in an experiment's folder, or in the one that `--runs` named.

    `pandas.DataFrame`, and that of polars, takes the list as it is; so does a CSV writer. A number
    that a run lacks is absent from its dict.

    Raises:
        UserError: there is no finished run, or a result is damaged.
    """
    table = []
    for folder in experiments(Path(runs)):
        for run in finished_runs(folder):
            result = read_result(run)
            if result is None:
                continue
            measured = [*map(Measurement.of, result.metrics)]
            table.append(
                {
                    "experiment": folder.name,
                    "variant": result.variant,
                    "seed": result.seed,
                    **{str(each.key): each.value for each in measured},
                    "validation loss": result.best_validation_loss,
                    "steps": result.step,
                    "parameters": result.parameters,
                    "seconds": result.seconds,
                    "run": str(run),
                }
            )
    return table
