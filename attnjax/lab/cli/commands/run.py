"""`attnjax run`."""

import os
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import RenderableType
from rich.text import Text

from attnjax.config.console import PlainConsole, plain_table
from attnjax.errors import Interrupted, UserError, named
from attnjax.lab.cli.chosen import ChosenExperiment, Seeds, Variants
from attnjax.lab.cli.command import RunsFolder, count, option, whole_number
from attnjax.lab.cli.commands.report import Records, Verbose, read_given, summarized
from attnjax.lab.cli.output import keep_compiled, out, say
from attnjax.lab.cli.requeue import REQUEUE, requeued
from attnjax.lab.runs.catalog import find, records_folder, with_shipped
from attnjax.lab.sweeps.worker import Worker
from attnjax.lab.sweeps.worker_devices import AUTO, Jobs, usable_devices, worker_devices
from attnjax.lab.sweeps.workers import command_line, work

if TYPE_CHECKING:
    from attnjax.experiment import Ablation
    from attnjax.lab.results.summary import Summary
    from attnjax.lab.runs.run_folder import RunStatus
    from attnjax.lab.sweeps.dry_run import VariantStatus
    from attnjax.lab.sweeps.request import Request


def number_of_jobs(text: str) -> Jobs:
    """Parse the number of workers."""
    if text == AUTO:
        return AUTO
    try:
        return whole_number(10_000)(text)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{error}, or {AUTO}") from error


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What `attnjax run` is asked for, beside the experiment."""

    variant: Variants = ()
    seeds: Seeds = None
    seed: Annotated[
        tuple[int, ...],
        count("a seed to run, out of those; may be repeated", most=2**31 - 1, least=0),
    ] = ()
    together: Annotated[
        int | None,
        count(
            "the most seeds that train together, in one program; default: as many as gain and fit"
        ),
    ] = None
    jobs: Annotated[
        Jobs | None,
        option(
            "so many processes share the runs, each on a core, GPU or TPU of its own; auto: one "
            "for each; default: one process on all",
            "N|auto",
            type=number_of_jobs,
        ),
    ] = None
    until_decided: Annotated[
        bool, option("more seeds while a claim is undecided, as many as the file's next look has")
    ] = False
    dry_run: Annotated[bool, option("print what would be run, and how long it may take")] = False
    profile: Annotated[
        int,
        count(
            "write a trace of a few steps of each training, for Perfetto; default: 5 steps",
            "STEPS",
            most=1_000,
            bare=5,
        ),
    ] = 0
    records: Records = None
    verbose: Verbose = False
    runs: RunsFolder = Path("runs")

    @property
    def words(self) -> list[str]:
        """The arguments that ask for this."""
        words = list[str]()
        for part in fields(self):
            value, typed = getattr(self, part.name), f"--{part.name.replace('_', '-')}"
            if value is True:
                words.append(typed)
            elif value != part.default:
                values = value if isinstance(value, tuple) else (value,)
                words += [word for one in values for word in (typed, str(one))]
        return words

    def looks(self, ablation: "Ablation") -> Sequence[int | None]:
        """Return how many seeds each variant has at first, and then while claims are undecided.

        Raises:
            UserError: the file has no looks, or seeds are given beside them.
        """
        if not self.until_decided:
            return (self.seeds,)
        if not ablation.looks or self.seeds is not None or self.seed:
            raise UserError(
                "--until-decided runs the seeds of the experiment file's looks, such as "
                "looks=(5, 10, 20), and takes no --seeds or --seed; the file has "
                f"{ablation.looks or 'none'}"
            )
        return ablation.looks


@requeued()
def run(chosen: ChosenExperiment, asked: Asked) -> int | None:
    """Run an experiment, and resume interrupted runs."""
    worker = Worker.begun(os.environ)
    if asked.jobs is None or worker is not None:
        return _run(chosen, asked, worker)
    devices = worker_devices(usable_devices(os.environ), asked.jobs, os.environ)
    if asked.dry_run:
        return _run(chosen, asked, None, len(devices))
    find(chosen.experiment)  # a wrong name starts nothing
    command = command_line(["run", chosen.experiment, *chosen.changed, *asked.words])
    return work(command, devices, PlainConsole(stderr=True))


def _run(
    chosen: ChosenExperiment, asked: Asked, worker: Worker | None, workers: int = 0
) -> int | None:
    """Run an experiment in this process; a dry run is that of so many workers."""
    keep_compiled()
    from attnjax.lab.runs import failures
    from attnjax.lab.runs.result import finished_runs
    from attnjax.lab.sweeps.dry_run import dry_run
    from attnjax.lab.sweeps.found import Found
    from attnjax.lab.sweeps.multi_process import follow, no_more_trainings
    from attnjax.lab.sweeps.plan import resolve
    from attnjax.lab.sweeps.request import Request
    from attnjax.training.devices import hosts
    from attnjax.training.devices.join import is_alone

    loaded = chosen.load()
    folder = asked.runs / loaded.folder
    looks = asked.looks(loaded.ablation)
    request = Request(
        loaded=loaded,
        variants=asked.variant,
        seeds=asked.seeds,
        only=asked.seed,
        together=asked.together,
        by_workers=worker is not None,
        profiled_steps=asked.profile,
        folder=folder,
        overrides=chosen.overrides,
        records=read_given(asked.records),
    )
    if asked.dry_run:
        plan = resolve(request)
        for sentence in plan.parts():
            say(sentence)
        for part in planned(dry_run(plan), workers):
            out().print(part)
        return None
    if worker is not None and not is_alone():
        raise UserError(
            "--jobs starts processes that each train for themselves, and this is one of several "
            "processes that train together: leave out --jobs, or set JAX_NUM_PROCESSES=1"
        )
    with hosts.joined():
        if not hosts.is_first():
            follow(loaded)
            return None
        try:
            failed = _trained(request, looks, worker)
        except Interrupted as error:
            if worker is None:
                raise
            worker.saved(str(error))
            return REQUEUE
        no_more_trainings()
    if worker is not None and not worker.prints():
        return None
    if finished_runs(folder) or Found(resolve(request)).stand_ins.records:
        command = ["attnjax", "run", chosen.experiment, *chosen.changed]
        command += ["--records", str(asked.records)] if asked.records else []
        printed = summarized(
            folder, loaded, command, verbose=asked.verbose, records=request.records
        )
        _compare(request, printed)
    if failed:
        raise UserError(
            f"failed: {', '.join(failed)}; {failures.FILE} in their folders says why, and the same "
            "command tries them again"
        )
    return None


def _compare(request: "Request", printed: "Summary") -> None:
    """Compare the runs, and the verdicts that were printed, with the records at hand.

    A record that is damaged, or of another version, must not end a run.
    """
    from attnjax.lab.reporting.against_records import in_short
    from attnjax.lab.results.read import read_runs

    with suppress(Exception):
        runs = read_runs(request.folder)
        for sentence in in_short(request.loaded, runs, printed, with_shipped(records_folder())):
            say(sentence)


def _trained(
    request: "Request", looks: Sequence[int | None], worker: Worker | None
) -> dict[str, str]:
    """Run the seeds of each look while a claim is undecided; return what failed."""
    from attnjax.lab.results.folder import summarize
    from attnjax.lab.sweeps.sweep import sweep

    failed: dict[str, str] = {}
    for seeds in looks:
        console = PlainConsole(stderr=True) if worker is None else worker.console()
        failed = sweep(replace(request, seeds=seeds), console, worker)
        if failed or len(looks) == 1:
            break
        summary = summarize(request.folder, request.loaded, records=request.records)
        if all(row.verdict != "undecided" for row in summary.claims):
            break
    return failed


def planned(variants: Sequence["VariantStatus"], workers: int = 0) -> Iterator[RenderableType]:
    """Yield the table of the variants, and a line with the number of runs and the time of all.

    The time of so many `workers` is their share of it; 0: a single process trains.
    """
    from attnjax.lab.reporting.number import MISSING
    from attnjax.lab.sweeps.recorded import together

    figures = ("steps", "parameters", "FLOPs a step", "tokens a step", "time left")
    drawn = plain_table(["variant", "runs"], figures)
    for plan in variants:
        costs = [MISSING] * 3
        if plan.costs is not None:
            parameters, training = plan.costs
            costs = [f"{parameters:,}", f"{training.flops:.3g}", f"{training.tokens:,.0f}"]
        time = MISSING if plan.seconds is None else _time(plan.seconds)
        drawn.add_row(Text(plan.name), Text(_runs(plan)), f"{plan.steps:,}", *costs, time)
    yield drawn
    yield from map(Text, together((plan.name, plan.of_records) for plan in variants))
    yield from map(Text, _unread(variants))
    yield Text(_total(variants, workers))


def _total(variants: Sequence["VariantStatus"], workers: int) -> str:
    """Return a line with the number of runs that are to be trained, and with the time of all."""
    left = sum(len(plan.waiting) for plan in variants)
    every = [run for plan in variants for run in (*plan.runs.values(), *plan.points, *plan.tied)]
    recorded = sum(run.state == "recorded" for run in every)
    seconds = sum(plan.seconds or 0 for plan in variants)
    unknown = [plan.name for plan in variants if plan.seconds is None]
    line = f"{left} of {len(every)} runs are to be trained"
    if seconds:
        by = f" by {workers} workers" if workers > 1 else ""
        line += f", in about {_time(seconds / (workers or 1))}{by} without decoding"
    if recorded:
        line += f"; {recorded} are recorded"
    if unknown:
        which = _of(unknown, variants)
        line += f"; the time{which} is unknown, because no such run was trained here"
    return line


def _unread(variants: Sequence["VariantStatus"]) -> Iterator[str]:
    """Yield a sentence for each reason why data are not read."""
    for reason in dict.fromkeys(plan.unread for plan in variants if plan.unread):
        names = [plan.name for plan in variants if plan.unread == reason]
        yield (
            f"the data{_of(names, variants)} are not read, so nothing is checked against them: "
            f"{reason}"
        )


def _of(names: Sequence[str], variants: Sequence["VariantStatus"]) -> str:
    """Say of which variants a sentence is; nothing if it is of all."""
    return "" if len(names) == len(variants) else f" of {named(names)}"


def _runs(plan: "VariantStatus") -> str:
    """Describe the states of a variant's runs."""

    def of(state: str) -> dict[int, "RunStatus"]:
        return {seed: run for seed, run in plan.runs.items() if run.state == state}

    words = list[str]()
    if untuned := sum(point.state != "done" for point in plan.points):
        words.append(f"to tune: {untuned} of {len(plan.points)} runs")
    if left := sum(run.state not in ("done", "recorded") for run in plan.tied):
        words.append(f"at tied values: {left} of {len(plan.tied)} runs")
    if done := of("done"):
        words.append(f"done: {', '.join(map(str, done))}")
    if recorded := of("recorded"):
        words.append(f"recorded: {', '.join(map(str, recorded))}")
    words += [f"running: {seed}, by {run.detail}" for seed, run in of("running").items()]
    words += [f"interrupted at step {run.step}: {seed}" for seed, run in of("begun").items()]
    words += [f"failed: {seed}, because: {run.detail}" for seed, run in of("failed").items()]
    if missing := of("missing"):
        words.append(f"missing: {', '.join(map(str, missing))}")
    if plan.failure:
        words.append(f"tuning failed because: {plan.failure}")
    return "\n".join(words)


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
