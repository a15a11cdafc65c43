"""`attnjax import`."""

from pathlib import Path

from attnjax.cli.command import Command, Parser, path, results_folder
from attnjax.cli.output import say


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument("layout", metavar="LAYOUT", choices=("bert",), help="bert")
    path(parser, "FOLDER", "of config.json, vocab.txt and model.safetensors")
    results_folder(parser)


def call(*, layout: str, folder: Path, runs: Path) -> None:
    """Import a model as a run's folder."""
    del layout
    from attnjax.runs.import_bert import import_bert

    run = import_bert(folder, runs)
    say(f"{run} (initial_parameters_from: {run.parent.relative_to(runs)})")


COMMAND = Command(
    name="import",
    help="Import a model of another program as a run, to begin others with.",
    arguments=arguments,
    call=call,
)
