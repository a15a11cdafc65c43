"""Arguments that the engines' programs share."""

from pathlib import Path

from attnjax.cli.command import Parser, experiment, whole_number


def wanted(parser: Parser) -> None:
    """Add what is to be run: see `launch.plan.Wanted`. Its results' folder is added apart."""
    experiment(parser)
    parser.add_argument(
        "--variant", action="append", default=[], help="a variant to run; may be repeated"
    )
    parser.add_argument(
        "--seeds",
        type=whole_number(10_000),
        metavar="N",
        help="the number of runs of each variant; default: as the file says",
    )


def site(parser: Parser, example: str, *, required: bool = False) -> None:
    """Add the site file."""
    parser.add_argument(
        "--site",
        type=Path,
        metavar="FILE",
        required=required,
        help=f"what a run asks for, in a file such as {example}",
    )


def dry_run(parser: Parser) -> None:
    """Add the choice to do nothing."""
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be submitted, and submit nothing"
    )


def yes(parser: Parser) -> None:
    """Add the answer to the question before something is done."""
    parser.add_argument("--yes", action="store_true", help="do not ask")


def launched_folder(parser: Parser) -> None:
    """Add the folder of an experiment that was launched."""
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="an experiment's folder, such as runs/positions"
    )
