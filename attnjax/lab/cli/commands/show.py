"""`attnjax show`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from attnjax.config.walk import field_names, is_part, walk
from attnjax.errors import NoCorpus
from attnjax.lab.cli.chosen import ChosenExperiment, Variant
from attnjax.lab.cli.output import keep_compiled, out

if TYPE_CHECKING:
    from attnjax.experiment import Experiment


def show(chosen: ChosenExperiment, *, variant: Variant = None) -> None:
    """Print all settings of an experiment, and its cost."""
    keep_compiled()
    from attnjax.experiment.tuning import describe as shown

    ablation = chosen.load().ablation
    for part in describe(chosen.with_overrides(ablation, variant)):
        out().print(part)
    if variant is not None:
        return
    if ablation.settings:
        out().print(f"settings: {', '.join(ablation.settings)}")
    seeds = "1 seed" if ablation.seeds == 1 else f"{ablation.seeds} seeds"
    out().print(f"variants: {', '.join(ablation.variants)}; {seeds} each")
    for what, (theirs, ours) in ablation.differs.items():
        out().print(Text(f"differs from the paper: {what}: {theirs}; here: {ours}"))
    if ablation.tune:
        by = f"chosen by the mean validation loss of {len(ablation.tuning_seeds)} seeds"
        out().print(f"tunes each variant first: {shown(ablation.tune)}; {by}")


def describe(experiment: "Experiment") -> Iterator[RenderableType]:
    """Yield the lines of the output; without the data, parameters and costs are left out."""
    from attnjax.attention.attention import Attention
    from attnjax.data.loaded import Corpora
    from attnjax.data.vocabularies import SIDES
    from attnjax.lab.sweeps.costs import costs

    tree = Tree(Text(type(experiment).__name__))
    _grow(tree, experiment)
    yield tree
    for path, part in walk(experiment):
        if isinstance(part, Attention):
            yield Text(f"{path}: {part.describe()}")
    try:
        corpus = Corpora().of(experiment.task)
        resolved = experiment.resolve(corpus)
    except NoCorpus as error:
        yield Text(f"parameters and FLOPs depend on the data: {error}")
        return
    plan = resolved.training.batching.plan(corpus.splits["train"])
    parameters, cost = costs(resolved.recipe, corpus, plan)
    for note in corpus.notes:
        yield Text(f"data: {note}")
    for side, size in zip(SIDES, corpus.vocabularies.sizes, strict=True):
        if size is not None:
            yield Text(f"{side} vocabulary: {size:,}")
    yield Text(f"parameters: {parameters:,}")
    flops, shape = f"{cost.flops:.3g}", list(cost.shape)
    yield Text(f"a training step: {flops} FLOPs in matrix products, at [B, S, T] = {shape}")


def _grow(drawn: Tree, part: Any) -> None:
    """Add all fields of a part to a tree, with their values."""
    for name in field_names(type(part)):
        value = getattr(part, name)
        if is_part(value):
            _grow(drawn.add(Text(f"{name}: {type(value).__name__}")), value)
        elif isinstance(value, tuple) and any(map(is_part, value)):
            below = drawn.add(Text(name))
            for item in value:
                _grow(below.add(Text(type(item).__name__)), item)
        else:
            drawn.add(Text(f"{name} = {value!r}"))
