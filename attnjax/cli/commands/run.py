"""`attnjax run`."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from attnjax.cli.catalog import find
from attnjax.cli.command import (
    EXPERIMENT,
    Command,
    Parser,
    chosen_variants,
    experiment,
    results_folder,
    whole_number,
)
from attnjax.cli.output import keep_compiled, out, say
from attnjax.cli.requeue import requeued
from attnjax.config.override import Override
from attnjax.errors import UserError


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    experiment(parser)
    chosen_variants(parser)
    parser.add_argument(
        "--seed",
        type=whole_number(2**31 - 1, least=0),
        action="append",
        default=[],
        metavar="N",
        help="a seed to run, out of those; may be repeated",
    )
    parser.add_argument(
        "--together",
        type=whole_number(10_000),
        metavar="N",
        help="the most seeds that train together, in one program; default: as many as fit",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be run, and how long it may take"
    )
    parser.add_argument(
        "--profile",
        type=whole_number(1_000),
        nargs="?",
        const=5,
        default=0,
        metavar="STEPS",
        help="write a trace of a few steps of each training, for Perfetto; default: 5 steps",
    )
    results_folder(parser)


@requeued()
def call(
    *,
    experiment: str,
    setting: str | None,
    variant: Sequence[str],
    seeds: int | None,
    seed: Sequence[int],
    together: int | None,
    runs: Path,
    dry_run: bool,
    profile: int,
    overrides: Sequence[Override],
) -> None:
    """Run an experiment, then summarize its runs; or print what would be run."""
    keep_compiled()
    from attnjax.cli.summarized import summarized
    from attnjax.experiment.load import load
    from attnjax.runs import failures
    from attnjax.runs.joined import follow, no_more_trainings
    from attnjax.runs.run_ablation import sweep
    from attnjax.runs.run_folder import RESULT
    from attnjax.runs.sweep import Sweep
    from attnjax.training import hosts

    loaded = load(find(experiment)).at(setting)
    folder = runs / loaded.folder
    plan = Sweep(
        loaded=loaded,
        variants=tuple(dict.fromkeys(variant)),
        seeds=seeds,
        only=tuple(dict.fromkeys(seed)),
        together=together,
        profiled_steps=profile,
        folder=folder,
        overrides=tuple(overrides),
    )
    if dry_run:
        from attnjax.cli.planned import planned
        from attnjax.runs.dry_run import dry_run as look

        for sentence in plan.chosen_parts():
            say(sentence)
        for part in planned(look(plan)):
            out().print(part)
        return
    with hosts.joined():
        if not hosts.is_first():
            follow(loaded)
            return
        failed = sweep(plan, Console(stderr=True))
        no_more_trainings()
    if any(folder.glob(f"*/seed-*/{RESULT}")):
        again = ["attnjax", "run", experiment, *(["--setting", setting] if setting else [])]
        summarized(folder, loaded, [*again, *(word for one in overrides for word in one.words)])
    if failed:
        raise UserError(
            f"failed: {', '.join(failed)}; {failures.FILE} in their folders says why, and the same "
            "command tries them again"
        )


COMMAND = Command(
    name="run",
    help="Run an experiment, and resume interrupted runs.",
    arguments=arguments,
    call=call,
    overridden=EXPERIMENT,
)
