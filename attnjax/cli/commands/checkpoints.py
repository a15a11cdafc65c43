"""`attnjax checkpoints`."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from attnjax.cli.command import Command, Parser, path, whole_number
from attnjax.cli.output import out, say
from attnjax.errors import UserError

if TYPE_CHECKING:
    from attnjax.runs.checkpoint_list import ListedCheckpoint


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    path(parser, "RUN", "a run's folder")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="exit with 1 if a checkpoint is damaged",
    )
    parser.add_argument(
        "--export", type=Path, metavar="F", help="write the run into a file of safetensors"
    )
    parser.add_argument(
        "--average",
        type=whole_number(10_000),
        metavar="N",
        help="export the mean of the last N epochs that are saved; default: the run's result",
    )


def call(*, run: Path, verify: bool, export: Path | None, average: int | None) -> int:
    """List a run's checkpoints, or export the run."""
    from attnjax.runs import export as exports
    from attnjax.runs.checkpoint_list import listed

    if average is not None and export is None:
        raise UserError("--average goes with --export")
    if export is not None:
        count = exports.export(run, export, last=average)
        say(f"{export}: {count:,} parameters; `attnjax import attnjax {export}` reads it")
        return 0
    found = listed(run)
    out().print(_table(found))
    for one in found:
        if one.damage and not one.aside:
            say(one.damage)
    return int(verify and any(one.damage and not one.aside for one in found))


def _table(found: "list[ListedCheckpoint]") -> Table:
    drawn = Table("checkpoint", "epochs", "valid loss", "size", "state", "kept", box=None)
    for one in found:
        progress = one.progress
        drawn.add_row(
            one.name,
            "" if progress is None else f"{progress.epochs:.2f}",
            "" if progress is None or progress.loss is None else f"{progress.loss:.4f}",
            _shown(one.size),
            "corrupt" if one.damage else "whole",
            ", ".join(one.reasons),
        )
    return drawn


def _shown(size: int) -> str:
    """A number of bytes with its unit."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size //= 1024
    return f"{size} GiB"


COMMAND = Command(
    name="checkpoints",
    help="List and verify a run's checkpoints, or export the run into one file.",
    arguments=arguments,
    call=call,
)
