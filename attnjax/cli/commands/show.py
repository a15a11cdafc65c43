"""`attnjax show`."""

from collections.abc import Sequence

from attnjax.cli.catalog import find
from attnjax.cli.command import EXPERIMENT, Command, Parser, experiment
from attnjax.cli.output import keep_compiled, out
from attnjax.config.override import Override, override


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    experiment(parser)
    parser.add_argument("--variant", help="a variant; default: the base")


def call(
    *, experiment: str, setting: str | None, variant: str | None, overrides: Sequence[Override]
) -> None:
    """Print an experiment's tree, its parameters, and the cost of a training step."""
    keep_compiled()
    from attnjax.cli.describe import describe
    from attnjax.experiment.load import load

    ablation = load(find(experiment)).at(setting).ablation
    chosen = ablation.base if variant is None else ablation.variant(variant)
    for part in describe(override(chosen, overrides)):
        out().print(part)
    if variant is None:
        if ablation.settings:
            out().print(f"settings: {', '.join(ablation.settings)}")
        each = "1 seed" if ablation.seeds == 1 else f"{ablation.seeds} seeds"
        out().print(f"variants: {', '.join(ablation.variants)}; {each} each")
        if ablation.tune:
            from attnjax.experiment.tuning import describe as shown

            by = f"chosen by the validation loss of seed {ablation.tune_seed}"
            out().print(f"tunes each variant first: {shown(ablation.tune)}; {by}")


COMMAND = Command(
    name="show",
    help="Print all settings of an experiment, and its cost.",
    arguments=arguments,
    call=call,
    overridden=EXPERIMENT,
)
