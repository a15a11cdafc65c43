"""The commands. Each imports what it needs when it is called."""

import codecs
import json as json_format
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnjax.cli.catalog import catalog, find
from attnjax.config.override import Override, override
from attnjax.errors import UserError, warn

if TYPE_CHECKING:
    from attnjax.checks import Finding
    from attnjax.runs.trained import Trained


def list() -> None:
    """Print the shipped experiments."""
    drawn = Table("experiment", "question", "paper", box=None, pad_edge=False)
    for entry in catalog():
        drawn.add_row(entry.name, entry.question, entry.paper)
    _out().print(drawn)


def show(
    *, experiment: str, setting: str | None, variant: str | None, overrides: Sequence[Override]
) -> None:
    """Print an experiment's tree, its parameters, and the cost of a training step."""
    _keep_compiled()
    from attnjax.cli.describe import describe
    from attnjax.experiment.load import load

    ablation = load(find(experiment)).at(setting).ablation
    chosen = ablation.base if variant is None else ablation.variant(variant)
    for part in describe(override(chosen, overrides)):
        _out().print(part)
    if variant is None:
        if ablation.settings:
            _out().print(f"settings: {', '.join(ablation.settings)}")
        each = "1 seed" if ablation.seeds == 1 else f"{ablation.seeds} seeds"
        _out().print(f"variants: {', '.join(ablation.variants)}; {each} each")
        if ablation.tune:
            from attnjax.experiment.tuning import describe as shown

            by = f"chosen by the validation loss of seed {ablation.tune_seed}"
            _out().print(f"tunes each variant first: {shown(ablation.tune)}; {by}")


def parts(*, path: str, experiment: str | None) -> None:
    """Print the parts that can be chosen for a field, or the values that it may have."""
    from attnjax.config.constraints import describe, shown
    from attnjax.config.parts import first_line
    from attnjax.config.parts import parts as choices
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
        _out().print(f"{path} is a value: {describe(hint)}; now {shown(now)}", highlight=False)
        return
    drawn = Table("part", "what it is", "", box=None, pad_edge=False)
    for name, kind in options.items():
        chosen = kind is (None if now is None else type(now))
        drawn.add_row(name, Text(first_line(kind)), "now" if chosen else "")
    _out().print(drawn)


def check(*, experiment: str) -> int:
    """Check the parts that a file defines; return 1 if one lacks a property, else 0."""
    _keep_compiled()
    from attnjax.cli.check import check_file
    from attnjax.experiment import load

    loaded = load(find(experiment))
    failed, tried, not_tried = 0, 0, []
    for what, findings in check_file(loaded):
        if not findings:
            not_tried.append(what)
        for finding in findings:
            line = f"{what}: {finding.property}: {_found(finding, loaded.path)}"
            _out().print(line, highlight=False, soft_wrap=True, markup=False)
            tried += 1
            failed += finding.problem is not None
    if not_tried:
        can = "scores, aligns, attentions and models of sequences can be"
        line = f"not tried: {', '.join(not_tried)} ({can})"
        _out().print(line, highlight=False, soft_wrap=True, markup=False)
    if not tried:
        raise UserError(
            f"{experiment} defines no score, align, attention or part of a model to be checked"
        )
    return int(failed > 0)


def _found(finding: "Finding", path: Path) -> str:
    """A finding in words; for an error, with the line of the experiment file."""
    frames = traceback.extract_tb(finding.error.__traceback__) if finding.error else []
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    where = f"{path}, line {lines[-1]}: " if lines else ""
    return f"{where}{finding.problem or 'ok'}"


def run(
    *,
    experiment: str,
    setting: str | None,
    variant: Sequence[str],
    seeds: int | None,
    runs: Path,
    dry_run: bool,
    overrides: Sequence[Override],
) -> None:
    """Run an experiment, then summarize its runs; or print what would be run."""
    _keep_compiled()
    from attnjax.experiment.load import load
    from attnjax.runs import failures
    from attnjax.runs.run_ablation import Sweep, sweep
    from attnjax.runs.run_folder import RESULT

    loaded = load(find(experiment)).at(setting)
    folder = runs / loaded.folder
    plan = Sweep(
        loaded=loaded,
        variants=tuple(dict.fromkeys(variant)),
        seeds=seeds,
        folder=folder,
        overrides=tuple(overrides),
    )
    if dry_run:
        from attnjax.cli.planned import planned
        from attnjax.runs.dry_run import dry_run as look

        for part in planned(look(plan)):
            _out().print(part)
        return
    failed = sweep(plan, Console(stderr=True))
    if any(folder.glob(f"*/seed-*/{RESULT}")):
        again = ["attnjax", "run", experiment, *(["--setting", setting] if setting else [])]
        _report(folder, loaded, [*again, *(word for one in overrides for word in one.words)])
    if failed:
        raise UserError(
            f"{len(failed)} of {len(plan.chosen())} variants failed ({', '.join(failed)}): see "
            f"{failures.FILE} in their folders; the same command tries them again"
        )


def report(*, runs: Path, trust: bool) -> None:
    """Summarize finished runs again."""
    from attnjax.runs.summary import experiments, reload

    for folder in experiments(runs):
        _report(folder, reload(folder, trust=trust), None)


def _report(folder: Path, loaded: Any, command: Sequence[str] | None) -> None:
    from attnjax.reporting.page import write
    from attnjax.reporting.table import table
    from attnjax.runs.summary import summarize

    summary = summarize(folder, loaded, command)
    page = write(folder, summary)
    _out().print(table(summary))
    _out().print(f"report: {page}", soft_wrap=True, highlight=False, markup=False)


def evaluate(
    *,
    runs: Sequence[Path],
    split: str | None,
    source: Path | None,
    reference: Path | None,
    beam: int | None,
    max_symbols: int,
    trust: bool,
    json: bool,
    overrides: Sequence[Override],
) -> None:
    """Score trained runs, as one, on a split of their task, or on files."""
    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together")
    if source is not None and split is not None:
        raise UserError("--split and --source exclude each other")
    _keep_compiled()
    from attnjax.reporting.number import number
    from attnjax.runs import evaluate as calls

    trained = _open(runs, trust, overrides)
    if source is not None and reference is not None:
        found = calls.evaluate_files(trained, source, reference, beam=beam, max_symbols=max_symbols)
    else:
        found = calls.evaluate(trained, split="test" if split is None else split, beam=beam)
    content = {"run": " ".join(map(str, runs)), "on": found.on, "sentences": found.sentences}
    content |= {**found.metrics, **found.details}
    if json:
        print(json_format.dumps(content, ensure_ascii=False))
        return
    for name, value in content.items():
        said = number(value) if isinstance(value, float) else value
        _out().print(f"{name}: {said}", highlight=False, soft_wrap=True, markup=False)


def predict(
    *,
    runs: Sequence[Path],
    beam: int | None,
    max_symbols: int,
    extra: int,
    trust: bool,
    overrides: Sequence[Override],
) -> None:
    """Answer each line of standard input by a line."""
    _keep_compiled()
    if sys.stdin is None:
        raise UserError("predict reads standard input, but standard input is closed")
    from attnjax.runs import evaluate as calls

    trained = _open(runs, trust, overrides)
    lines = _lines(sys.stdin.buffer.read())
    answers = calls.predict(
        trained, lines, beam=beam, max_symbols=max_symbols, extra=extra, origin="standard input"
    )
    for answer in answers:
        print(answer)


def _lines(content: bytes) -> Sequence[str]:
    """The lines of UTF-8 text, without a byte order mark."""
    lines = []
    content = content.removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), start=1):
        try:
            lines.append(line.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            raise UserError(
                f"line {number} of standard input is not UTF-8: it has the byte "
                f"0x{line[error.start]:02x} ({error.reason})"
            ) from error
    return lines if content else []


def _open(folders: Sequence[Path], trust: bool, overrides: Sequence[Override]) -> "Trained":
    """Open trained runs as one, with a warning if a training is not finished."""
    heads = [one for one in overrides if one.path.split(".")[-1] == "heads_out"]
    search = [one for one in overrides if one not in heads]
    for one in search:
        if one.path.split(".")[0] != "search":
            raise UserError(
                f"a trained run takes overrides of its search and of heads_out alone; got {one}"
            )
    from attnjax.runs.ensemble import ensemble
    from attnjax.runs.evaluate import overridden
    from attnjax.runs.trained import open_trained

    runs = [overridden(open_trained(folder, trust=trust), heads) for folder in folders]
    for run in runs:
        if not run.finished:
            warn(f"the training of {run.folder} is not finished; these are its results so far:")
    return overridden(ensemble(runs), search)


def import_model(*, layout: str, folder: Path, runs: Path) -> None:
    """Import a model as a run's folder."""
    del layout
    from attnjax.runs.import_bert import import_bert

    run = import_bert(folder, runs)
    begins = run.parent.relative_to(runs)
    line = f"{run} (initial_parameters_from: {begins})"
    _out().print(line, highlight=False, soft_wrap=True, markup=False)


def bench(*, workloads: Sequence[str], peer: Path | None, json: bool, against: Path | None) -> None:
    """Time workloads, in turns with another engine if `peer` is given."""
    _keep_compiled()
    from attnjax.benchmark.limit import CPU_SIDE, product
    from attnjax.benchmark.machine import machine
    from attnjax.benchmark.report import changes, kept, table
    from attnjax.benchmark.turns import measure, moved
    from attnjax.benchmark.workloads import chosen

    listed, then = chosen(workloads), None if against is None else kept(against)
    rows, limit = [], product(CPU_SIDE)

    def tell() -> None:
        content = {**machine(), "workloads": rows}
        found = [] if then is None else [*moved(content, then)]
        if then is not None:
            content["against"] = {"date": then["date"], "moved": found}
        if json:
            print(json_format.dumps(content))
            return
        _out().print(table(rows))
        if then is not None:
            _out().print(changes(found, then))

    try:
        for number, workload in enumerate(listed, start=1):
            # a line, not a spinner, whose thread would disturb the measurement
            print(f"{number} of {len(listed)}: {workload.name}", file=sys.stderr)
            rows.append(measure(workload, peer, limit))
    finally:
        # also after an error, so that the measurements so far are not lost
        if rows:
            tell()


def _keep_compiled() -> None:
    """Keep compiled programs in the user's cache, for the next run of the same program."""
    import jax

    if jax.config.jax_compilation_cache_dir is None:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        jax.config.update("jax_compilation_cache_dir", str(Path(cache) / "attnjax" / "compiled"))
        # short programs too: drawing the initial parameters takes a hundred of them
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


class _Output(Console):
    """Standard output; if the reader closes it, `main` handles the error."""

    def on_broken_pipe(self) -> None:
        raise


def _out() -> Console:
    """A console as wide as the terminal; output to a file or a program is never cut."""
    return _Output(file=sys.stdout, width=None if sys.stdout.isatty() else 10_000)
