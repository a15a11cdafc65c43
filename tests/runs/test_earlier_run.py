"""A run and an export of an earlier version, earlier_run.tar.gz, are read, resumed and reported."""

import tarfile
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

from attnjax.cli.main import main
from attnjax.runs.result import read_result
from attnjax.trained.evaluate import evaluate
from attnjax.trained.export import import_export
from attnjax.trained.trained_run import open_trained
from attnjax.training.log.metrics_log import read
from attnjax.training.step import evaluation_step, on_one_device
from attnjax.training.train_setup import TrainSetup

TINY = str(Path(__file__).parents[1] / "tiny.py")


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    with tarfile.open(Path(__file__).parent / "earlier_run.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def rerun(runs: Path, steps: int) -> int:
    given = ["run", TINY, "--variant", "scaled", "--seeds", "1", "--runs", str(runs)]
    size = ["--training.batching.batch_size_multiple", "1", "--training.steps", str(steps)]
    return main([*given, *size])


def test_an_earlier_run_computes_what_it_did(earlier):
    """The validation loss that its log holds."""
    run = earlier / "tiny/scaled/seed-0"
    trained = open_trained(run)
    recipe = trained.experiment.recipe
    setup = TrainSetup.of(recipe, trained.experiment.task.load())
    step = partial(evaluation_step, recipe=recipe, over_devices=on_one_device)
    losses = [step(trained.params, batch)["loss"] for batch in setup.valid]
    total, count = np.sum(losses, axis=0)
    *_, row = (row for row in read(run) if row["split"] == "valid")
    assert total / count == pytest.approx(row["loss"], rel=1e-6)


def test_an_earlier_run_is_read(earlier, capsys):
    run = earlier / "tiny/scaled/seed-0"
    trained, result = open_trained(run), read_result(run)
    assert trained.finished
    assert result is not None
    (exact,) = [row.value for row in result.metrics if row.name == "exact_match"]
    assert evaluate(trained).metrics["exact_match"] == exact
    assert main(["checkpoints", str(run), "--verify"]) == 0
    assert main(["report", str(earlier / "tiny"), "--trust"]) == 0
    assert "scaled" in capsys.readouterr().out


def test_an_earlier_run_is_not_run_again_and_can_be_lengthened(earlier, capsys):
    run = earlier / "tiny/scaled/seed-0"
    before = read(run)
    assert rerun(earlier, 4) == 0
    assert "scaled: 1 of 1 runs are there already" in capsys.readouterr().err
    assert rerun(earlier, 6) == 0
    after = read(run)
    assert after[: len(before)] == before
    assert after[-1]["step"] == 6


def test_an_earlier_export_is_imported(earlier, tmp_path):
    run = import_export(earlier / "old.safetensors", tmp_path / "imported")
    ours, theirs = open_trained(run), open_trained(earlier / "tiny/scaled/seed-0")
    jax.tree.map(np.testing.assert_array_equal, ours.params, theirs.params)
