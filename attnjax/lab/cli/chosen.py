"""An experiment as a command names it: by a shipped name or a file, a setting, and overrides."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from attnjax.config.override import Override, override
from attnjax.lab.cli.command import Overrides, count, option, positional
from attnjax.lab.runs.catalog import find

if TYPE_CHECKING:
    from attnjax.experiment import Ablation, Experiment
    from attnjax.experiment.load import ExperimentFile

NAME = "the name of a shipped experiment, or a file"

EXPERIMENT = Overrides(
    of="EXPERIMENT",
    epilog="""\
overrides change the experiment and each of its variants, in any order:
  model.encoder_layer.self_attention.head.score:dot    choose a part
  --model.encoder_layer.self_attention.heads 4              give a value
`attnjax show EXPERIMENT` lists every path, with the values there now.""",
)

Variant = Annotated[str | None, option("a variant; default: the base")]
Variants = Annotated[tuple[str, ...], option("a variant to run; may be repeated")]
Seeds = Annotated[
    int | None, count("the number of runs of each variant; default: as the file says")
]


@dataclass(frozen=True, kw_only=True)
class ChosenExperiment:
    """An experiment at one of its settings, and the overrides of its variants."""

    experiment: Annotated[str, positional("EXPERIMENT", NAME)]
    setting: Annotated[
        str | None, option("a setting of the experiment, such as paper: the paper's own scale", "S")
    ] = None
    overrides: Annotated[tuple[Override, ...], EXPERIMENT] = ()

    @property
    def changed(self) -> list[str]:
        """The arguments that choose a setting and change the variants."""
        setting = ["--setting", self.setting] if self.setting else []
        return setting + [word for override in self.overrides for word in override.words]

    def load(self) -> "ExperimentFile":
        """Execute the experiment file."""
        from attnjax.experiment.load import load

        return load(find(self.experiment)).at(self.setting)

    def with_overrides(self, ablation: "Ablation", name: str | None) -> "Experiment":
        """Return a variant, or for None the base, with the overrides applied."""
        chosen = ablation.base if name is None else ablation.variant(name)
        return override(chosen, self.overrides)
