"""`attnjax rehearse`."""

from collections.abc import Sequence
from dataclasses import replace

from attnjax.cli.catalog import find
from attnjax.cli.command import EXPERIMENT, Command, Parser, experiment, whole_number
from attnjax.cli.output import keep_compiled, out
from attnjax.config.override import Override, override
from attnjax.errors import NoCorpus, UserError


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    experiment(parser)
    parser.add_argument("--variant", help="a variant; default: the base")
    parser.add_argument(
        "--on", required=True, metavar="CHIPS", help="such as v5e:2x4, v5p:4x4x4 or h100:8"
    )
    parser.add_argument(
        "--vocabulary",
        type=whole_number(10**7),
        metavar="N",
        help="without data: the number of words of source and target",
    )
    parser.add_argument(
        "--length",
        type=whole_number(10**6),
        metavar="N",
        help="without data: the length of all sentences of the batch",
    )


def call(
    *,
    experiment: str,
    setting: str | None,
    variant: str | None,
    on: str,
    vocabulary: int | None,
    length: int | None,
    overrides: Sequence[Override],
) -> int:
    """Compile a training step for chips that are not here, and print its costs.

    Returns:
        0 if the step fits into the memory of a chip, else 1.
    """
    if (vocabulary is None) != (length is None):
        raise UserError("--vocabulary and --length go together")
    keep_compiled()
    import jax

    from attnjax.cli.rehearsed import rehearsed
    from attnjax.experiment.load import load
    from attnjax.rehearsal import Topology, rehearse
    from attnjax.runs.costs import batch_of_text, largest_batch

    # nothing is computed: no chip of this machine is needed, nor waited for
    jax.config.update("jax_platforms", "cpu")
    chips = Topology.named(on)
    ablation = load(find(experiment)).at(setting).ablation
    chosen = ablation.base if variant is None else ablation.variant(variant)
    chosen = override(chosen, overrides)
    recipe, batching = chosen.recipe, chosen.training.batching
    if vocabulary is not None and length is not None:
        recipe = replace(recipe, model=recipe.model.with_vocabularies(vocabulary, vocabulary))
        batch = batch_of_text(batching.batch_size_of(length), length)
    else:
        try:
            corpus = chosen.task.load()
        except NoCorpus as error:
            raise UserError(
                f"{error}; --vocabulary 37000 --length 64 rehearses on a batch of sentences of "
                "this length, without data"
            ) from error
        recipe = chosen.resolve(corpus).recipe
        batch = largest_batch(batching.plan(corpus.splits["train"]))
    found = rehearse(recipe, batch, chips)
    for part in rehearsed(found):
        out().print(part)
    return 0 if found.fits else 1


COMMAND = Command(
    name="rehearse",
    help="Compile a training step for TPUs or GPUs that are not here, and print its costs there.",
    arguments=arguments,
    call=call,
    overridden=EXPERIMENT,
)
