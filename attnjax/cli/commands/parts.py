"""`attnjax parts`."""

from typing import Annotated

from rich.table import Table
from rich.text import Text

from attnjax.cli.chosen import NAME
from attnjax.cli.command import positional
from attnjax.cli.output import out
from attnjax.runs.catalog import find


def parts(
    path: Annotated[
        str, positional("PATH", "a field, such as model.encoder_layer.self_attention.head.score")
    ],
    experiment: Annotated[
        str | None, positional("EXPERIMENT", f"{NAME}; default: a Transformer that copies")
    ] = None,
) -> None:
    """Print the parts that can be chosen for a field, or its values."""
    from attnjax.config.constraints import describe, shown
    from attnjax.config.parts import first_line, parts as choices
    from attnjax.config.vary import field_at
    from attnjax.data.generated.sequences import Copy
    from attnjax.experiment import Experiment, load
    from attnjax.models.transformer import Transformer

    if experiment is None:
        base = Experiment(task=Copy(), model=Transformer())
    else:
        base = load(find(experiment)).ablation.base
    hint, now = field_at(base, path)
    options = choices(hint)
    if not options:
        out().print(f"{path} is a value: {describe(hint)}; now {shown(now)}", highlight=False)
        return
    drawn = Table("part", "what it is", "", box=None, pad_edge=False)
    for name, kind in options.items():
        chosen = kind is (None if now is None else type(now))
        drawn.add_row(name, Text(first_line(kind)), "now" if chosen else "")
    out().print(drawn)
