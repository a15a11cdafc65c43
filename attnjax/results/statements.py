"""Claims and published figures of an experiment file, beside the runs that they are about."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from attnjax.experiment.ablation import Published
from attnjax.experiment.claims import Claim, Verdict, changes_meaning
from attnjax.experiment.estimands import Difference, SentenceDifference, Slope
from attnjax.experiment.load import ExperimentFile
from attnjax.reporting.summary import ClaimRow, LeftOut, PublishedRow, Row, SlopeLine
from attnjax.results.variant_runs import VariantRuns
from attnjax.runs import failures


def statements(
    folder: Path,
    loaded: ExperimentFile,
    variants: Mapping[str, VariantRuns],
    rows: Sequence[Row],
) -> tuple[tuple[ClaimRow, ...], tuple[PublishedRow, ...], tuple[LeftOut, ...]]:
    """Claims with verdicts, published figures, and what is left out of both with the reason."""
    planned = loaded.ablation.planned_seeds
    results = {
        name: {seed: run for seed, run in runs.metrics.items() if seed in planned}
        for name, runs in variants.items()
    }
    claims, published, left_out = [], [], []
    for claim in loaded.ablation.claims:
        reason = _another(claim.variants, variants)
        verdict = None if reason else claim.judge(results, planned)
        if verdict is not None:
            claims.append(claim_row(claim, verdict))
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


def claim_row(claim: Claim, verdict: Verdict) -> ClaimRow:
    """A claim and its verdict, for the report."""
    estimand = claim.estimand
    slope = isinstance(estimand, Slope)
    return ClaimRow(
        text=claim.text,
        source=claim.source,
        exploratory=claim.exploratory,
        metric=estimand.key,
        basis=estimand.basis,
        estimate=verdict.estimate,
        low=verdict.low,
        high=verdict.high,
        region=(claim.low, claim.high),
        verdict=verdict.verdict,
        reason=verdict.reason,
        seeds=tuple(verdict.seeds.items()),
        far_off=verdict.far_off,
        difference=isinstance(estimand, Difference | SentenceDifference),
        slope=SlopeLine(axis=estimand.axis, over=estimand.over, name=estimand.name)
        if slope
        else None,
    )


def _published(figure: Published, rows: Sequence[Row]) -> PublishedRow:
    row = next((row for row in rows if row.variant == figure.variant), None)
    column = row.column(figure.key) if row else None
    return PublishedRow(
        paper=figure.paper,
        table=figure.table,
        variant=figure.variant,
        metric=figure.key,
        value=figure.value,
        source=figure.source,
        ours=column.mean if column else None,
        deviation=column.deviation if column else None,
    )
