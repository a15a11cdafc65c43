"""Measurements as tables, and the changes since an earlier report."""

import platform
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import jax
from rich.table import Table

from attnjax.config.console import plain_table
from attnjax.config.machine import usable_cores
from attnjax.config.serialize import parse_json
from attnjax.errors import UserError


def machine() -> dict[str, Any]:
    """Return the date, the device, and the versions of the packages."""
    return {
        "date": date.today().isoformat(),
        "device": jax.devices()[0].device_kind,
        "cores": usable_cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "jax": jax.__version__,
    }


def read_report(path: Path) -> dict[str, Any]:
    """Read a report that `--json` wrote."""
    try:
        content = parse_json(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(
            f"--against needs a file that --json wrote; got {path} ({error.strerror})"
        ) from error
    except ValueError:
        content = None
    if isinstance(content, dict) and _is_report(content):
        return content
    raise UserError(f"--against needs a file that --json wrote; {path} holds something else")


def _is_report(content: dict[str, Any]) -> bool:
    """Return whether a content has the fields that `turns.speed_changes` and `changes` read."""
    try:
        named = [content[name] for name in ("date", "device", "cores", "jax")]
        for row in content["workloads"]:
            named += [row["name"], row["unit"]]
            ours = row["ours"]
            if len(ours["samples"]) < 2 or min(ours["median"], *ours["samples"]) <= 0:
                return False
    except (TypeError, KeyError):
        return False
    return True


def table(rows: Iterable[dict[str, Any]]) -> Table:
    """Return the table of medians. The ratio of speeds is computed turn by turn, with its range."""
    figures = ("attnjax", "peer", "times as fast", "of the machine's product rate")
    drawn = plain_table(["workload"], figures)
    for row in rows:
        peer = f"{row['peer']['median']:,.4g} ({row['engine']})" if "peer" in row else ""
        drawn.add_row(
            row["name"],
            f"{row['ours']['median']:,.4g} {row['unit']}",
            peer,
            _ratio(row["ratio"]) if "ratio" in row else "",
            f"{row['share']:.0%} of {row['product_gflops']:.0f} GFLOP/s" if "share" in row else "",
        )
    return drawn


def _ratio(ratio: dict[str, Any]) -> str:
    lowest, highest = min(ratio["samples"]), max(ratio["samples"])
    return f"{ratio['median']:.2f} ({lowest:.2f} to {highest:.2f})"


def changes(rows: Iterable[tuple[str, float, bool]], then: dict[str, Any]) -> Table:
    """Return the table of changes since an earlier report, as found by `turns.speed_changes`."""
    title = f"since {then['date']} on {then['device']}, {then['cores']} cores, jax {then['jax']}"
    drawn = plain_table(["workload"], ["times as fast"], title)
    drawn.add_column("", overflow="fold")
    for name, times, sure in rows:
        drawn.add_row(name, f"{times:.2f}", "" if sure else "within the spread of the turns")
    return drawn
