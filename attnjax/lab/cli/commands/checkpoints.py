"""`attnjax checkpoints`."""

from pathlib import Path
from typing import Annotated

from attnjax.config.console import plain_table
from attnjax.errors import UserError
from attnjax.lab.cli.command import RunFolder, count, option
from attnjax.lab.cli.output import out, say


def checkpoints(
    run: RunFolder,
    *,
    verify: Annotated[bool, option("exit with 1 if a checkpoint is damaged")] = False,
    export: Annotated[Path | None, option("write the run into a new folder", "FOLDER")] = None,
    average: Annotated[
        int | None,
        count("export the mean of the last N epochs that are saved; default: the run's result"),
    ] = None,
) -> int:
    """List and verify a run's checkpoints, or export the run into a folder."""
    from attnjax.lab.trained import export as exports
    from attnjax.lab.trained.checkpoint_list import listed

    if average is not None and export is None:
        raise UserError("--average goes with --export")
    if export is not None:
        count = exports.export(run, export, last=average)
        say(f"{export}: {count:,} parameters; `attnjax import attnjax {export}` reads it")
        return 0
    rows = listed(run)
    drawn = plain_table(["checkpoint", "epochs", "valid loss", "size", "state", "kept"])
    for row in rows:
        progress = row.progress
        drawn.add_row(
            row.name,
            "" if progress is None else f"{progress.epochs:.2f}",
            "" if progress is None or progress.loss is None else f"{progress.loss:.4f}",
            _shown(row.size),
            "corrupt" if row.damage else "whole",
            ", ".join(row.reasons),
        )
    out().print(drawn)
    damage = [row.damage for row in rows if row.damage and not row.aside]
    for sentence in damage:
        say(sentence)
    return int(verify and bool(damage))


def _shown(size: int) -> str:
    """Return a number of bytes with its unit."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size //= 1024
    return f"{size} GiB"
