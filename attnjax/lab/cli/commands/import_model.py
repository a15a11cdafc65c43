"""`attnjax import`."""

from pathlib import Path
from typing import Annotated

from attnjax.lab.cli.command import RunsFolder, positional
from attnjax.lab.cli.output import say


def import_model(
    layout: Annotated[str, positional("LAYOUT", "attnjax or bert", choices=("attnjax", "bert"))],
    source: Annotated[
        Path,
        positional(
            "SOURCE",
            "attnjax: a folder that `attnjax checkpoints --export` wrote; "
            "bert: a folder of config.json, vocab.txt and model.safetensors",
        ),
    ],
    *,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Import a trained model as a run, to evaluate it or to begin others with."""
    from attnjax.lab.trained.export import import_export
    from attnjax.lab.trained.import_bert import import_bert

    run = {"attnjax": import_export, "bert": import_bert}[layout](source, runs)
    say(f"{run} (initial_parameters_from: {run.parent.relative_to(runs)})")
