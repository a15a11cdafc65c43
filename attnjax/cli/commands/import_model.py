"""`attnjax import`."""

from pathlib import Path

from attnjax.cli.command import Command, Parser, path, results_folder
from attnjax.cli.output import say

LAYOUTS = ("attnjax", "bert")


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument("layout", metavar="LAYOUT", choices=LAYOUTS, help="attnjax or bert")
    path(
        parser,
        "SOURCE",
        "attnjax: a file that `attnjax checkpoints --export` wrote; "
        "bert: a folder of config.json, vocab.txt and model.safetensors",
    )
    results_folder(parser)


def call(*, layout: str, source: Path, runs: Path) -> None:
    """Import a model as a run's folder."""
    from attnjax.runs.export import import_export
    from attnjax.runs.import_bert import import_bert

    run = {"attnjax": import_export, "bert": import_bert}[layout](source, runs)
    say(f"{run} (initial_parameters_from: {run.parent.relative_to(runs)})")


COMMAND = Command(
    name="import",
    help="Import a trained model as a run, to evaluate it or to begin others with.",
    arguments=arguments,
    call=call,
)
