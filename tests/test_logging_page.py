"""The functions of docs/logging.md get every row, through stand-ins for the trackers."""

import json
import math
import re
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from attnjax.lab.log import metrics_log
from attnjax.lab.log.metrics_log import LogEnd, MetricsLog, read

PAGE = Path(__file__).parents[1] / "docs" / "logging.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(autouse=True)
def _own_watchers(monkeypatch):
    monkeypatch.setattr(metrics_log, "_watchers", {})


def written(folder: Path) -> Path:
    log = MetricsLog(folder, step=0, end=LogEnd())
    log.write(step=1, epoch=1, split="train", loss=2.0)
    log.write(step=2, epoch=1, split="valid", loss=1.5)
    log.close()
    return folder


def logged(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> MagicMock:
    """The stand-in for a tracker after two rows of a run."""
    tracker = MagicMock()
    monkeypatch.setitem(sys.modules, name, tracker)
    (block,) = [block for block in BLOCKS if f"import {name}" in block]
    exec(compile(block, str(PAGE), "exec"), {})
    written(folder)
    return tracker


def test_wandb(monkeypatch, tmp_path):
    wandb = logged("wandb", monkeypatch, tmp_path / "exp" / "dot" / "seed-0")
    wandb.init.assert_called_once()
    assert wandb.init.call_args.kwargs["project"] == "exp"
    calls = wandb.init.return_value.log.call_args_list
    assert [call.kwargs["step"] for call in calls] == [1, 2]
    assert calls[0].args[0] == {"train/step": 1, "train/epoch": 1, "train/loss": 2.0}


def test_mlflow(monkeypatch, tmp_path):
    mlflow = logged("mlflow", monkeypatch, tmp_path / "exp" / "dot" / "seed-0")
    client = mlflow.MlflowClient.return_value
    client.create_run.assert_called_once()
    names = {call.args[1:] + (call.kwargs["step"],) for call in client.log_metric.call_args_list}
    assert names == {
        ("train/loss", 2.0, 1), ("train/epoch", 1, 1), ("valid/loss", 1.5, 2), ("valid/epoch", 1, 2)
    }  # fmt: skip


def test_comet(monkeypatch, tmp_path):
    comet = logged("comet_ml", monkeypatch, tmp_path / "exp" / "dot" / "seed-0")
    comet.Experiment.assert_called_once_with(project_name="exp")
    experiment = comet.Experiment.return_value
    experiment.set_name.assert_called_once_with("dot/seed-0")
    prefixes = [call.kwargs["prefix"] for call in experiment.log_metrics.call_args_list]
    assert prefixes == ["train", "valid"]


def test_a_number_that_is_not_finite_is_null_in_the_file_and_itself_to_watchers(tmp_path):
    seen = []
    metrics_log.watch(lambda _, row: seen.append(row["loss"]))
    log = MetricsLog(tmp_path, step=0, end=LogEnd())
    for step, loss in enumerate((1.5, math.nan, math.inf), start=1):
        log.write(step=step, epoch=0, split="train", loss=loss)
    log.close()
    lines = (tmp_path / metrics_log.FILE).read_text().splitlines()
    losses = [json.loads(line, parse_constant=pytest.fail)["loss"] for line in lines]
    assert losses == [1.5, None, None]
    assert str(seen) == "[1.5, nan, inf]"
    assert str([row["loss"] for row in read(tmp_path)]) == "[1.5, nan, nan]"


def test_an_error_of_a_watcher_ends_no_training(tmp_path, capsys):
    calls = []

    @metrics_log.watch
    def broken(folder, row):
        calls.append(row)
        raise ConnectionError("no network")

    folder = written(tmp_path / "run")
    assert len(calls) == 1
    assert len(read(folder)) == 2
    told = capsys.readouterr().err
    assert "broken watched the log, failed (ConnectionError: no network)" in told
