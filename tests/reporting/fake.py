"""A summary and its runs, as an experiment leaves them."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from attnjax.config.serialize import to_json
from attnjax.evaluation.attention_record import LayerWeights, SentenceAttention
from attnjax.evaluation.measurement import Better, MetricKey
from attnjax.evaluation.metric import ExactMatch
from attnjax.evaluation.sentence_stats import sentences
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.lab.results.record import Minutes, Record, RunSource
from attnjax.lab.results.summary import (
    ClaimRow,
    Column,
    Judged,
    PublishedRow,
    Row,
    SlopeLine,
    Summary,
)
from attnjax.lab.runs.manifest import Manifest
from attnjax.lab.runs.result import RunResult
from attnjax.lab.runs.versions import Machine

ENDS_SCRIPT = "</script><script>alert(1)</script><!--"
WIDTHS = (16, 64)
EXACT, ERROR = MetricKey("exact_match"), MetricKey("alignment_error")
INITIAL, TRAINED = (
    MetricKey("logit_variance", moment="initial"),
    MetricKey("logit_variance", moment="trained"),
)


def summary(seeds: int = 3) -> Summary:
    rows = tuple(
        row(variant, width, seeds)
        for variant, width in (*((f"unscaled_{w}", w) for w in WIDTHS), ('<b>&"x', 16))
    )
    over = tuple((f"unscaled_{width}", width) for width in WIDTHS)
    return Summary(
        experiment="scaling and heads",
        title="Does <i>it</i> matter?  Somebody & others 2017.",
        note='The question "in full", a < b.\n\nMore.\n\n    attnjax run x  # <code>\n',
        rows=rows,
        judged=judged(
            ClaimRow(
                text="Variance <grows>.",
                metric=INITIAL,
                estimate=1.003,
                low=0.991,
                high=1.015,
                region=(0.95, 1.05),
                verdict="reproduced",
                seeds=((0, 1.0), (1, 1.002), (2, 1.007)),
                slope=SlopeLine(axis="key width", over=over, name="unscaled"),
            ),
            ClaimRow(
                text="It hurts.",
                kind="reduced",
                source="section 3",
                quote='"it <hurts>"',
                metric=EXACT,
                estimate=0.1,
                low=0.0,
                high=0.2,
                region=(0.05, math.inf),
                verdict="undecided",
                seeds=((0, 0.14), (1, 0.001), (2, 0.141)),
                far_off=1,
                words="difference of exact match",
                difference=True,
            ),
            ClaimRow(
                text="It heals.",
                exploratory=True,
                metric=EXACT,
                basis="seeds and sentences",
                estimate=0.1,
                low=0.06,
                high=0.14,
                region=(-math.inf, -0.05),
                verdict="not reproduced",
                seeds=((0, 0.09), (1, 0.1), (2, 0.11)),
                words="difference of exact match",
                difference=True,
            ),
        ),
        published=(
            _published("unscaled_64", 0.98, "<table> 3", ours=rows[1].column(EXACT)),
            _published("never run", 41.02, "elsewhere"),
        ),
        environment=(("device", "2 <CPU> cores"), ("jax", "0.12.0"), ("date", "2026-01-31")),
        command="attnjax run 'scaling and heads'",
    )


def write_runs(folder: Path, fake: Summary) -> Summary:
    """The log, the attention and the answers of every run, whose folders the summary then names.

    The last line of each metrics.jsonl is cut off.
    """
    rows = []
    for number, one in enumerate(fake.rows):
        runs = [folder / str(number) / f"seed-{seed}" for seed in one.seeds]
        for seed, run in enumerate(runs):
            run.mkdir(parents=True)
            lines = [
                json.dumps({"step": step, "epoch": 1, "split": split, "loss": 9.0 / step + seed})
                for step in (10, 20, 30)
                for split in ("train", "valid")
            ]
            (run / "metrics.jsonl").write_text("\n".join([*lines, '{"step": 40, "spl']))
            text = json.dumps(to_json((sentence(), sentence("a", ENDS_SCRIPT))))
            (run / "attention.json").write_text(text, encoding="utf-8")
            pairs = [(ENDS_SCRIPT, "right"), ("easy", "right")]
            (run / "references.json").write_text(json.dumps(pairs))
            texts = [ENDS_SCRIPT if number else "right", "right"]
            (run / "hypotheses.txt").write_text("".join(f"{text}\n" for text in texts))
            sentences(ExactMatch(), texts, ["right"] * 2, None).write(run)
        records = zip(one.records, runs, strict=True)
        rows.append(replace(one, records=tuple(lying_in(run, record) for record, run in records)))
    return replace(fake, rows=tuple(rows))


def sentence(*words: str) -> SentenceAttention:
    """A sentence of a model with two layers, the upper one with two heads."""
    source = words or ("<b>", "я", " ", "ا", "日", "ั", "\u200f", '"', "<end>")
    size = len(source)
    weights = np.asarray([[1.0 / size] * size, [0.0] * (size - 1) + [1.0]])
    return SentenceAttention(
        number=0,
        source=source,
        target=("&", "<end>"),
        gold=((1, 2), ()),
        layers=(
            LayerWeights.of("encoder", "source", "source", np.eye(size)[None]),
            LayerWeights.of("cross", "target", "source", np.stack([weights, weights[::-1]])),
        ),
    )


def column(key: MetricKey, values: Sequence[float], better: Better | None = None) -> Column:
    return Column(
        key=key,
        better=better,
        values=tuple(values),
    )


def judged(*claims: ClaimRow) -> tuple[Judged, ...]:
    return tuple(Judged(text=claim.text, source=claim.source, rows={"": claim}) for claim in claims)


def record(variant: str, seed: int, parameters: int, seconds: float) -> Record:
    """A record of a run that lies nowhere."""
    return Record(
        experiment="scaling and heads",
        variant=variant,
        seed=seed,
        key="0",
        settings="0",
        date="2026-01-31",
        versions={},
        device="",
        data={"test": "1"},
        updates=30,
        parameters=parameters,
        minutes=Minutes(train=seconds / 60),
        metrics=(),
    )


def lying_in(folder: Path, record: Record, cost: TrainingCost | None = None) -> Record:
    """The record, of a run in this folder."""
    settings = {"training": {}}
    result = RunResult(
        variant=record.variant,
        seed=record.seed,
        metrics=(),
        seconds=record.seconds,
        date=record.date,
        device="",
        versions={},
        step=30,
        averaged=(30,),
        epochs=1.0,
        stopped="steps",
        machine=Machine(kind="", processor="", cores=1, xla_flags=""),
        cost=cost,
        files={},
    )
    manifest = Manifest(
        experiment="x",
        variant=record.variant,
        seed=record.seed,
        settings=settings,
        text="",
        path="",
    )
    source = RunSource(folder=folder, stage="chosen", manifest=manifest, result=result)
    return replace(record, source=source)


def row(variant: str, width: int, seeds: int) -> Row:
    some = range(seeds)
    return Row(
        variant=variant,
        records=tuple(
            record(variant, seed, 100_000 + width, (40.0 + width) / seeds) for seed in some
        ),
        columns=(
            column(EXACT, [0.9 - width / 1000 + seed / 200 for seed in some], "higher"),
            column(ERROR, [0.1 + width / 500 + seed / 50 for seed in some], "lower"),
            column(INITIAL, [width * (1 + seed / 30) for seed in some]),
            column(TRAINED, [3 * width * (1 + seed / 10) for seed in some]),
        ),
    )


def changed_column(fake: Summary, number: int, key: MetricKey, **changes) -> Summary:
    """The summary with one column of one row changed."""
    rows = [*fake.rows]
    columns = [
        replace(column, **changes) if column.key == key else column
        for column in rows[number].columns
    ]
    rows[number] = replace(rows[number], columns=tuple(columns))
    return replace(fake, rows=tuple(rows))


def _published(
    variant: str, value: float, source: str, *, ours: Column | None = None
) -> PublishedRow:
    return PublishedRow(
        paper="A & B 2017",
        table="Table <3>",
        variant=variant,
        metric=EXACT,
        value=value,
        source=source,
        ours=ours and ours.mean,
        deviation=ours and ours.deviation,
    )
