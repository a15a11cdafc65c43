"""`attnjax run` in several processes: one run, one result, one writer."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.training import joined

TINY = Path(__file__).parents[1] / "tiny.py"
ALL_DEVICES = ("--training.batching.batch_size_multiple", "4")
RUN = ("-m", "attnjax", "run", TINY, *ALL_DEVICES, "--variant", "scaled", "--runs")


def result(runs: Path) -> dict:
    return json.loads((runs / "tiny" / "scaled" / "seed-0" / "result.json").read_text())


def rows(runs: Path) -> list[dict]:
    path = runs / "tiny" / "scaled" / "seed-0" / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """The runs of two processes with two devices each."""
    folder = tmp_path_factory.mktemp("joined")
    started = joined.start((*RUN, folder), processes=2, devices=2)
    joined.finish(started)
    return folder


def test_two_processes_have_the_result_of_one(runs, tmp_path):
    joined.finish(joined.start((*RUN, tmp_path), processes=1, devices=4))
    ours, theirs = result(runs), result(tmp_path)
    measured, expected = ([one.pop("value") for one in x["metrics"]] for x in (ours, theirs))
    assert ours["metrics"] == theirs["metrics"]
    np.testing.assert_allclose(measured, expected, rtol=1e-5)
    assert ours["best_validation_loss"] == pytest.approx(theirs["best_validation_loss"], abs=1e-6)
    for one, other in zip(rows(runs), rows(tmp_path), strict=True):
        assert (one["step"], one["split"]) == (other["step"], other["split"])
        np.testing.assert_allclose(one["loss"], other["loss"], rtol=0, atol=1e-6)
