"""Claims and published figures of an experiment file, beside the runs that they are about."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnjax.experiment.ablation import Published
from attnjax.experiment.claims import Claim, Verdict, changes_meaning
from attnjax.experiment.design import claim_digest
from attnjax.experiment.estimands import Difference, Slope
from attnjax.experiment.load import ExperimentFile
from attnjax.reporting.summary import ClaimRow, LeftOut, PublishedRow, Row, SlopeLine
from attnjax.results.variant_runs import VariantRuns
from attnjax.runs import failures
from attnjax.runs.run_folder import STEPS


def statements(
    folder: Path,
    loaded: ExperimentFile,
    variants: Mapping[str, VariantRuns],
    rows: Sequence[Row],
) -> tuple[tuple[ClaimRow, ...], tuple[PublishedRow, ...], tuple[LeftOut, ...]]:
    """Claims with verdicts, published figures, and what is left out of both with the reason."""
    results = {name: runs.metrics for name, runs in variants.items()}
    tied = {name: runs.tied for name, runs in variants.items()}
    minutes = {name: runs.minutes for name, runs in variants.items()}
    claims, published, left_out = [], [], []
    for claim in loaded.ablation.claims:
        reason = _another(claim.variants, variants)
        verdict = None if reason else loaded.ablation.judge(claim, results, tied)
        if verdict is not None:
            row = claim_row(claim, _of_planned_steps(claim, verdict, variants), minutes)
            added = _added(claim_digest(claim, loaded.own), claim, variants)
            claims.append(replace(row, added=added))
        else:
            reason = reason or _missing(folder, claim, variants)
            left_out.append(LeftOut(text=claim.text, reason=reason))
    for figure in loaded.ablation.published:
        reason = _another([figure.variant], variants)
        if reason:
            shown = f"{figure.paper}, {figure.table}: {figure.variant}, {figure.key} {figure.value}"
            left_out.append(LeftOut(text=shown, reason=reason))
        else:
            published.append(_published(figure, rows))
    return tuple(claims), tuple(published), tuple(left_out)


def _of_planned_steps(
    claim: Claim, verdict: Verdict, variants: Mapping[str, VariantRuns]
) -> Verdict:
    """The verdict; "not trained" if runs were trained for fewer steps than the file plans."""
    for name in claim.variants:
        planned, run = variants[name].changes.get(STEPS, (0, 0))
        if run < planned and verdict.verdict != "not judged yet":
            reason = f"{name} was trained for {run:,} of {planned:,} planned steps"
            return replace(verdict, verdict="not trained", reason=reason, p=None, more_seeds=None)
    return verdict


def _added(digest: str, claim: Claim, variants: Mapping[str, VariantRuns]) -> bool:
    """Whether a run was started when the file did not have the claim, or had it otherwise."""
    manifests = [run for name in claim.variants for run in variants[name].manifests.values()]
    return any(run.claims is not None and digest not in run.claims for run in manifests)


def _another(names: Sequence[str], variants: Mapping[str, VariantRuns]) -> str:
    """The reason to leave out a statement on variants whose runs differ from the file; "": none."""
    for name in names:
        for path in variants[name].changes if name in variants else ():
            if changes_meaning(path):
                return f"{path} of {name} was changed"
    return ""


def _missing(folder: Path, claim: Claim, variants: Mapping[str, VariantRuns]) -> str:
    """The reason why a claim has no verdict: a variant failed, was not run or not measured."""
    absent = [name for name in claim.variants if name not in variants]
    for name in absent:
        if failure := failures.reason(folder / name):
            return f"{name} failed: {failure}"
    if absent:
        names = [*dict.fromkeys(absent)]
        return f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} not run"
    return f"{claim.estimand.key} was not measured"


def claim_row(claim: Claim, verdict: Verdict, minutes: Mapping[str, float]) -> ClaimRow:
    """A claim and its verdict, for the report; `minutes` are those of one seed of each variant."""
    estimand, more = claim.estimand, verdict.more_seeds
    each = sum(minutes.get(name, 0.0) for name in claim.variants)
    slope = None
    if isinstance(estimand, Slope):
        slope = SlopeLine(axis=estimand.axis, over=estimand.over, name=estimand.name)
    of_verdict: dict[str, Any] = {**vars(verdict), "seeds": tuple(verdict.seeds.items())}
    return ClaimRow(
        **of_verdict,
        text=claim.text,
        source=claim.source,
        exploratory=claim.exploratory,
        metric=estimand.key,
        more_minutes=None if more is None else more * each,
        region=(claim.low, claim.high),
        difference=isinstance(estimand, Difference),
        slope=slope,
    )


def _published(figure: Published, rows: Sequence[Row]) -> PublishedRow:
    row = next((row for row in rows if row.variant == figure.variant), None)
    column = row.column(figure.key) if row and not figure.why_not else None
    of_figure: dict[str, Any] = {**vars(figure), "metric": figure.key}
    return PublishedRow(
        **of_figure,
        ours=column.mean if column else None,
        deviation=column.deviation if column else None,
    )
