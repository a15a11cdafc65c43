"""The judge of records: the rows of an experiment, its claims with verdicts, published figures.

A claim is judged for each kind of machine that has all planned seeds, see
`attnjax.lab.results.machines`; a row has the runs of one kind.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from attnjax.errors import named
from attnjax.evaluation.measurement import Better, Measurement, MetricKey
from attnjax.evaluation.measures.by_length import by_length
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.experiment.ablation import Ablation, Published
from attnjax.experiment.best import AboveBest
from attnjax.experiment.claims import Claim, Verdict, changes_meaning
from attnjax.experiment.design import claim_digest
from attnjax.experiment.estimands import Difference, RunMetrics, Slope
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import in_words
from attnjax.lab.results.description import described, with_setting
from attnjax.lab.results.fit import fitting
from attnjax.lab.results.machines import by_machine, in_rows
from attnjax.lab.results.record import Record
from attnjax.lab.results.summary import (
    ClaimRow,
    Column,
    Judged,
    LeftOut,
    PublishedRow,
    Row,
    SlopeLine,
    Summary,
)
from attnjax.lab.results.variants import Measured, Variant, variants_of
from attnjax.lab.runs.run_folder import STEPS

PARTS = 4
"""The parts of a figure by source length, where no measure has others."""


def judge(
    loaded: ExperimentFile,
    records: Sequence[Record],
    failed: Mapping[str, str] = MappingProxyType({}),
) -> Summary:
    """Judge an experiment file by records; those that do not fit it are told in `earlier`.

    `failed` has the reasons why variants failed, for claims that wait for them.

    Raises:
        UserError: a record is damaged, or a claim compares runs tested on different sentences.
    """
    ablation, kept = loaded.ablation, fitting(loaded, records)
    variants = variants_of(loaded, kept, records)
    counted = in_rows(variants, ablation)
    rows = tuple(_row(name, runs) for name, runs in counted.items())
    shown = {id(run.record) for runs in counted.values() for run in runs}
    chosen = (record for variant in variants.values() for record in variant.records)
    apart = tuple(record for record in chosen if id(record) not in shown)
    others = {name: reason for name in variants if (reason := _another(name, variants))}
    judged = tuple(_judged(claim, loaded, variants, others, failed) for claim in ablation.claims)
    published, left_out = _figures(ablation, rows, others)
    summary = Summary(
        experiment=loaded.folder,
        title=loaded.title or loaded.name,
        note=loaded.note,
        rows=rows,
        apart=apart,
        tied=tuple(record for record in kept if record.tied),
        earlier=tuple(record for record in records if record.run is None and record not in kept),
        paper=f"attnjax run {loaded.name} --setting paper" if "paper" in ablation.settings else "",
        tunings=tuple(of.tuning for of in variants.values() if of.tuning is not None),
        judged=judged,
        published=published,
        figures_left_out=left_out,
        command=f"attnjax run {with_setting(loaded)}",
        crossing=ablation.crossing,
    )
    summary = described(summary, loaded, variants)
    return replace(summary, remarks=(*summary.remarks, *_of_apart(apart)))


def _of_apart(records: Sequence[Record]) -> Iterator[str]:
    """Yield which runs are in no row, as others on a kind of machine, or at other values, are."""
    alike: dict[str, list[int]] = {}
    for record in records:
        tuned = in_words([*record.tuned.values()])
        where = f"{record.variant} on {record.kind}{f', tuned to {tuned}' if tuned else ''}"
        alike.setdefault(where, []).append(record.seed)
    for where, seeds in alike.items():
        yield f"beside the rows, not in their means: {where}, seeds {', '.join(map(str, seeds))}"


def _row(name: str, runs: Sequence[Measured]) -> Row:
    directions: dict[MetricKey, Better | None] = {
        item.key: item.better for run in runs for item in map(Measurement.of, run.record.metrics)
    }
    sentences = [run.numbers.sentences for run in runs if run.numbers.sentences]
    return Row(
        variant=name,
        records=tuple(run.record for run in runs),
        columns=tuple(
            Column(
                key=key,
                better=better,
                values=tuple(run.numbers.metrics.get(key) for run in runs),
                length=_length(key, sentences),
            )
            for key, better in directions.items()
        ),
        by_length=_by_length(sentences) if not any(key.part for key in directions) else (),
    )


def _by_length(sentences: Iterable[Sentences]) -> tuple[Column, ...]:
    """Return the score on four parts of the test split, the shortest sources first."""
    kept = [(run, run.lengths) for run in sentences if run.lengths is not None]
    if not kept or min(len(lengths) for _, lengths in kept) < PARTS:
        return ()
    metric = kept[0][0].metric
    scores = [
        [run.at(indices).value() for indices in by_length(lengths, PARTS)] for run, lengths in kept
    ]
    columns = []
    for number, values in enumerate(zip(*scores, strict=True), start=1):
        key = MetricKey(metric.name, part=(number, PARTS))
        length = _length(key, [run for run, _ in kept])
        columns.append(Column(key=key, better=metric.better, values=values, length=length))
    return tuple(columns)


def _length(key: MetricKey, sentences: Sequence[Sentences]) -> float | None:
    """Return the mean length of the sources of a part of the test split; None: no such metric."""
    lengths = next((kept.lengths for kept in sentences if kept.lengths is not None), None)
    if key.part is None or lengths is None:
        return None
    number, parts = key.part
    return float(lengths[by_length(lengths, parts)[number - 1]].mean())


def _another(name: str, variants: Mapping[str, Variant]) -> str:
    """Return why a statement on a variant says nothing about its runs; "": it does."""
    paths = (path for path in variants[name].changes if changes_meaning(path))
    return next((f"{path} of {name} was changed" for path in paths), "")


def _judged(
    claim: Claim,
    loaded: ExperimentFile,
    variants: Mapping[str, Variant],
    others: Mapping[str, str],
    failed: Mapping[str, str],
) -> Judged:
    """Return a claim with its verdicts, or with the reason why it has none."""
    absent = tuple(name for name in dict.fromkeys(claim.variants) if name not in variants)
    another = next((others[name] for name in claim.variants if name in others), "")
    rows: dict[str, ClaimRow] = {}
    own = {name: variants[name] for name in claim.variants if name in variants}
    complete = len(own) == len({*claim.variants})
    machines = {} if another else by_machine(own, complete, loaded.ablation)
    for kind, places in machines.items():
        results = {name: _numbers(places[name, ()]) for name in own}
        tied = {
            name: {at: _numbers(runs) for (row, at), runs in places.items() if row == name and at}
            for name in own
        }
        verdict = loaded.ablation.judge(claim, results, tied)
        if verdict is not None:
            minutes = sum(_minutes(places[name, ()]) for name in own)
            row = _claim_row(claim, _of_planned_steps(claim, verdict, variants), minutes)
            added = _added(claim_digest(claim, loaded.own), own.values())
            rows[kind] = replace(row, added=added, machine=kind if len(machines) > 1 else "")
    reason = "" if rows else another or _missing(claim, absent, failed)
    return Judged(
        text=claim.text,
        kind=claim.kind,
        source=claim.source,
        quote=claim.quote,
        rows=rows,
        absent=absent,
        reason=reason,
    )


def _numbers(runs: Mapping[int, Measured]) -> dict[int, RunMetrics]:
    return {seed: run.numbers for seed, run in runs.items()}


def _minutes(runs: Mapping[int, Measured]) -> float:
    """Return the mean minutes of training and decoding of a run."""
    return sum(run.record.minutes.run for run in runs.values()) / len(runs)


def _of_planned_steps(claim: Claim, verdict: Verdict, variants: Mapping[str, Variant]) -> Verdict:
    """Return the verdict; "not trained" if runs had fewer steps than the file plans."""
    for name in claim.variants:
        planned, run = variants[name].changes.get(STEPS, (0, 0)) if name in variants else (0, 0)
        if run < planned and verdict.verdict != "not judged yet":
            reason = f"{name} was trained for {run:,} of {planned:,} planned steps"
            return replace(verdict, verdict="not trained", reason=reason, p=None, more_seeds=None)
    return verdict


def _added(digest: str, variants: Iterable[Variant]) -> bool:
    """Return whether a run was started when the file lacked the claim, or had it otherwise."""
    runs = (record.run for variant in variants for record in variant.records)
    claims = (run.manifest.claims for run in runs if run is not None)
    return any(known is not None and digest not in known for known in claims)


def _missing(claim: Claim, absent: Sequence[str], failed: Mapping[str, str]) -> str:
    """Return why a claim has no verdict: a variant failed, was not run or not measured."""
    for name in absent:
        if name in failed:
            return f"{name} failed: {failed[name]}"
    if absent:
        return f"{named(absent)} {'was' if len(absent) == 1 else 'were'} not run"
    return f"{claim.estimand.key} was not measured"


def _claim_row(claim: Claim, verdict: Verdict, minutes: float) -> ClaimRow:
    """Return a claim and its verdict; `minutes` are those of one seed of each variant."""
    estimand, more = claim.estimand, verdict.more_seeds
    slope = None
    if isinstance(estimand, Slope):
        slope = SlopeLine(axis=estimand.axis, over=estimand.over, name=estimand.name)
    of_verdict: dict[str, Any] = {**vars(verdict), "seeds": tuple(verdict.seeds.items())}
    return ClaimRow(
        **of_verdict,
        text=claim.text,
        kind=claim.kind,
        source=claim.source,
        quote=claim.quote,
        bound=claim.bound,
        exploratory=claim.exploratory,
        metric=estimand.key,
        more_minutes=None if more is None else more * minutes,
        region=(claim.low, claim.high),
        words=estimand.words,
        difference=isinstance(estimand, Difference | AboveBest),
        slope=slope,
    )


def _figures(
    ablation: Ablation, rows: Sequence[Row], others: Mapping[str, str]
) -> tuple[tuple[PublishedRow, ...], tuple[LeftOut, ...]]:
    """Return papers' figures beside ours; and those of variants that were changed, left out."""
    published, left_out = [], []
    for figure in ablation.published:
        if reason := others.get(figure.variant):
            shown = f"{figure.paper}, {figure.table}: {figure.variant}, {figure.key} {figure.value}"
            left_out.append(LeftOut(text=shown, reason=reason))
        else:
            published.append(_published(figure, rows))
    return tuple(published), tuple(left_out)


def _published(figure: Published, rows: Sequence[Row]) -> PublishedRow:
    """Return a paper's figure beside the mean over our seeds."""
    row = next((row for row in rows if row.variant == figure.variant), None)
    column = row.column(figure.key) if row and not figure.why_not else None
    of_figure: dict[str, Any] = {**vars(figure), "metric": figure.key}
    return PublishedRow(
        **of_figure,
        ours=column.mean if column else None,
        deviation=column.deviation if column else None,
    )
