"""A summary and its runs, as an experiment leaves them."""

import json
import statistics
from pathlib import Path
from typing import Any

WIDTHS = (16, 64)
METRICS = ("exact_match", "alignment_error", "logit_variance_initial", "logit_variance_trained")


def summary(seeds: int = 3) -> dict[str, Any]:
    rows = [
        _row(variant, width, seeds)
        for variant, width in (*((f"unscaled_{w}", w) for w in WIDTHS), ('<b>&"x', 16))
    ]
    over = [[f"unscaled_{width}", width] for width in WIDTHS]
    sides = {"better": "unscaled_16", "worse": "unscaled_64"}
    slope = {"kind": "slope", "metric": "logit_variance_initial", "over": over}
    difference = {"kind": "difference", "metric": "exact_match", **sides}
    return {
        "experiment": "scaling and heads",
        "title": "Does <i>it</i> matter?  Somebody & others 2017.",
        "note": 'The question "in full", a < b.\n\nMore.\n\n    attnjax run x  # <code>\n',
        "metrics": list(METRICS),
        "better": {"exact_match": "higher", "alignment_error": "lower"},
        "rows": rows,
        "claims": [
            _claim("Variance <grows>.", slope, (1.003, 0.991, 1.015), [0.95, 1.05], "reproduced"),
            _claim("It hurts.", difference, (0.1, 0.0, 0.2), [0.05, None], "undecided"),
            _claim("It heals.", difference, (0.1, 0.06, 0.14), [None, -0.05], "not reproduced"),
        ],
        "published": [
            _published("unscaled_64", 0.98, "<table> 3"),
            _published("never run", 41.02, "elsewhere"),
        ],
        "device": "2 <CPU> cores",
        "versions": {"jax": "0.12.0"},
        "date": "2026-01-31",
    }


def write_runs(folder: Path, fake: dict[str, Any]) -> None:
    """metrics.jsonl and attention.json for every run; the last line is cut off."""
    for row in fake["rows"]:
        row["runs"] = []
        for seed in range(row["n"]):
            name = f"{len(row['runs'])}-{fake['rows'].index(row)}"
            run = folder / name
            run.mkdir(parents=True)
            row["runs"].append(name)
            lines = [
                json.dumps({"step": step, "epoch": 1, "split": split, "loss": 9.0 / step + seed})
                for step in (10, 20, 30)
                for split in ("train", "valid")
            ]
            (run / "metrics.jsonl").write_text("\n".join([*lines, '{"step": 40, "spl']))
            (run / "attention.json").write_text(json.dumps([picture()]), encoding="utf-8")


def picture() -> dict[str, Any]:
    source = ["<b>", "я", " ", "ا", "日", "ั", "\u200f", '"', "<end>"]
    weights = [[1.0 / len(source)] * len(source), [0.0] * 8 + [1.0]]
    return {"source": source, "target": ["&", "<end>"], "weights": weights, "gold": [[1, 2], []]}


def _row(variant: str, width: int, seeds: int) -> dict[str, Any]:
    values = {
        "exact_match": [0.9 - width / 1000 + seed / 200 for seed in range(seeds)],
        "alignment_error": [0.1 + width / 500 + seed / 50 for seed in range(seeds)],
        "logit_variance_initial": [width * (1 + seed / 30) for seed in range(seeds)],
        "logit_variance_trained": [3 * width * (1 + seed / 10) for seed in range(seeds)],
    }
    return {
        "variant": variant,
        "n": seeds,
        "mean": {name: statistics.fmean(column) for name, column in values.items()},
        "standard_deviation": {
            name: statistics.stdev(column) if seeds > 1 else 0.0 for name, column in values.items()
        },
        "seconds": 40.0 + width,
        "parameters": 100_000 + width,
        "values": values,
    }


def _claim(text: str, quantity: Any, ends: Any, region: Any, verdict: str) -> dict[str, Any]:
    estimate, low, high = ends
    bounds = {"estimate": estimate, "low": low, "high": high, "region": region}
    return {"text": text, "quantity": quantity, "verdict": verdict, **bounds}


def _published(variant: str, value: float, source: str) -> dict[str, Any]:
    where = {"paper": "A & B 2017", "table": "Table <3>", "source": source}
    return {"variant": variant, "metric": "exact_match", "value": value, **where}
