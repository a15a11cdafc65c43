"""`attnjax check`."""

import traceback
from pathlib import Path
from typing import Annotated

from attnjax.config.console import PlainConsole, print_line
from attnjax.errors import UserError
from attnjax.lab.cli.command import positional
from attnjax.lab.cli.output import keep_compiled, say
from attnjax.lab.runs.catalog import find


def check(experiment: Annotated[str, positional("FILE", "an experiment file")]) -> int:
    """Check the parts that a file defines: masked rows, causality, half precision, ...

    The exit code is 1 if a part lacks a property.
    """
    keep_compiled()
    from attnjax.experiment import load
    from attnjax.lab.checks.experiment_file import check_file

    loaded = load(find(experiment))
    failed, tried, not_tried = 0, 0, []
    errors = PlainConsole(stderr=True)
    with errors.status("loading") as status:

        def begin(what: str) -> None:
            status.update(f"checking {what}")
            if not errors.is_terminal:
                print_line(errors, f"checking {what}")

        for what, findings in check_file(loaded, begin):
            if not findings:
                not_tried.append(what)
            for finding in findings:
                where = _where(finding.error, loaded.path)
                say(f"{what}: {finding.property}: {where}{finding.problem or 'ok'}")
                tried += 1
                failed += finding.problem is not None
    if not_tried:
        can = "parts of attentions and models, tasks, metrics, objectives and schedules can be"
        say(f"not tried: {', '.join(not_tried)} ({can})")
    if not tried:
        raise UserError(
            f"{experiment} defines no score, align, mask, attention, norm or part of a model, and "
            "uses no task, metric, objective or schedule of its own, to be checked"
        )
    return int(failed > 0)


def _where(error: Exception | None, path: Path) -> str:
    """Return the line of the experiment file where an error arose; "" if there is none."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}: " if lines else ""
