"""Records of runs: read in their folders, and completed before they are kept in a file.

    records = read_runs("runs/luong2015") + read_records("records")

See `attnjax.lab.results.lines` for the files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnjax.config.serialize import own_names
from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.design import design, short_digest, tuning_digest
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import points
from attnjax.files import file_digest
from attnjax.lab.results.record import Answers, Minutes, Record, RunSource, StageName
from attnjax.lab.results.tuning import STAGES
from attnjax.lab.runs.manifest import CONFIG, EXPERIMENT, Manifest, read, text_damage
from attnjax.lab.runs.provenance import definitions_digest
from attnjax.lab.runs.result import RESULT
from attnjax.lab.runs.run_folder import MACHINE, result
from attnjax.nn.paths import flat


def read_runs(folder: str | Path) -> list[Record]:
    """Return the records of the finished runs in an experiment's folder, those that tune included.

    Raises:
        UserError: a file is damaged, or a run lies in the folder of another one.
    """
    paths: list[tuple[Path, StageName]] = [
        (path.parent, stage)
        for stage, pattern in STAGES.items()
        for path in sorted(Path(folder).glob(f"*/{pattern}/{RESULT}"))
    ]
    return [record for run, stage in paths if (record := read_run(run, stage)) is not None]


def read_run(run: Path, stage: StageName = "chosen") -> Record | None:
    """Return the record of the run in a folder; None: it is not finished."""
    outcome = result(run, {})
    if outcome is None:
        return None
    variant = run.parent if stage == "chosen" else run.parents[2]
    if (outcome.variant, f"seed-{outcome.seed}") != (variant.name, run.name):
        raise UserError(
            f"{run / RESULT} is the result of {outcome.variant}/seed-{outcome.seed}: a run's "
            "folder has the name of its seed, in that of its variant"
        )
    manifest = read(run)
    settings = settings_digest(manifest.settings, manifest.tuned)
    values = flat(manifest.settings)
    data = dict(outcome.data) or ({} if outcome.test_set is None else {"test": outcome.test_set})
    # the settings of a generated task say its data, the seed included
    generated = "seed" in manifest.settings["task"]
    return Record(
        experiment=manifest.experiment,
        setting=manifest.setting,
        variant=manifest.variant,
        seed=manifest.seed,
        key=short_digest([settings, {} if generated else data, manifest.own_code]),
        settings=settings,
        date=outcome.date,
        tuned={path: values.get(path) for path in manifest.tuned},
        tied=stage == "tied",
        parts=_parts(run, manifest),
        code=outcome.code,
        versions=outcome.versions,
        device=outcome.device,
        machine=outcome.machine,
        data=data,
        vocabulary=manifest.vocabulary,
        updates=outcome.step,
        epochs=outcome.epochs,
        stopped=outcome.stopped,
        parameters=outcome.parameters,
        minutes=Minutes(
            train=_minutes(outcome.seconds),
            decode=None if (spent := outcome.decoding_seconds) is None else _minutes(spent),
        ),
        metrics=outcome.metrics,
        source=RunSource(folder=run, stage=stage, manifest=manifest, result=outcome),
    )


def _parts(run: Path, manifest: Manifest) -> str | None:
    """Return the digest of a run's own parts; None: it has none, or no text of them."""
    names = own_names(manifest.settings)
    if not names or text_damage(run, manifest):
        return None
    text = (run / EXPERIMENT).read_text(encoding="utf-8")
    return definitions_digest(text, names, manifest.own_code)


def settings_digest(settings: Mapping[str, Any], tuned: tuple[str, ...]) -> str:
    """Return the digest of a run's settings, without those of the machine and tuned values."""
    left_out = {*MACHINE, *tuned}
    counted = {path: value for path, value in flat(settings).items() if path not in left_out}
    return short_digest(counted)


def recordings(records: Sequence[Record], loaded: ExperimentFile, now: str) -> list[Record]:
    """Return the records of runs with all that their files hold; those that tune have none.

    The minutes of tuning are those of all runs that tuned the variant. `now` is the time in UTC, as
    ISO 8601.
    """
    designed = design(loaded.ablation, loaded.own)
    made = []
    for record in records:
        run = record.run
        if run is None or run.stage == "tuning":
            continue
        tuned = run.stage == "chosen" and bool(record.tuned)
        spent = [
            other.seconds
            for other in records
            if tuned and other.stage == "tuning" and other.variant == record.variant
        ]
        sentences = sentence_stats.read(run.folder, loaded.own)
        made.append(
            replace(
                record,
                design=designed,
                grid=_grid(record, records, loaded.ablation),
                recorded=now,
                minutes=replace(record.minutes, tune=_minutes(sum(spent))),
                answers=None if sentences is None else Answers.of(sentences, loaded.own),
                files={name: file_digest(run.folder / name) for name in (RESULT, CONFIG)},
            )
        )
    return made


def _grid(record: Record, records: Sequence[Record], ablation: Ablation) -> str | None:
    """Return the digest of the grid that a run was tuned over; None: its runs are not there."""
    paths = tuple(ablation.tune)
    tried = {
        (other.values(paths), other.seed)
        for other in records
        if other.stage == "tuning" and other.variant == record.variant
    }
    wanted = {
        (tuple(point.values()), seed)
        for point in points(ablation.tune)
        for seed in ablation.tuning_seeds
    }
    tuned = bool(paths) and {*record.tuned} == {*paths} and wanted <= tried
    return tuning_digest(ablation) if tuned else None


def _minutes(seconds: float) -> float:
    return round(seconds / 60, 2)
