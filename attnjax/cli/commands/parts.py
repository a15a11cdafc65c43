"""`attnjax parts`."""

from rich.table import Table
from rich.text import Text

from attnjax.cli.catalog import find
from attnjax.cli.command import Command, Parser
from attnjax.cli.output import out


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "path",
        metavar="PATH",
        help="a field, such as model.encoder_layer.self_attention.head.score",
    )
    parser.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        nargs="?",
        help="the name of a shipped experiment, or a file; default: a Transformer that copies",
    )


def call(*, path: str, experiment: str | None) -> None:
    """Print the parts that can be chosen for a field, or the values that it may have."""
    from attnjax.config.constraints import describe, shown
    from attnjax.config.parts import first_line, parts
    from attnjax.config.vary import field_at
    from attnjax.data.generated.sequences import Copy
    from attnjax.experiment import Experiment, load
    from attnjax.models.transformer import Transformer

    if experiment is None:
        base = Experiment(task=Copy(), model=Transformer())
    else:
        base = load(find(experiment)).ablation.base
    hint, now = field_at(base, path)
    options = parts(hint)
    if not options:
        out().print(f"{path} is a value: {describe(hint)}; now {shown(now)}", highlight=False)
        return
    drawn = Table("part", "what it is", "", box=None, pad_edge=False)
    for name, kind in options.items():
        chosen = kind is (None if now is None else type(now))
        drawn.add_row(name, Text(first_line(kind)), "now" if chosen else "")
    out().print(drawn)


COMMAND = Command(
    name="parts",
    help="Print the parts that can be chosen for a field, or its values.",
    arguments=arguments,
    call=call,
)
