"""Scores of the validation split while an experiment is trained."""

from pathlib import Path

import pytest

from attnjax.config.serialize import parse_json
from attnjax.lab.cli.main import main
from attnjax.lab.log.metrics_log import read
from attnjax.lab.trained.evaluate import evaluate
from attnjax.lab.trained.trained_run import open_trained

TINY = str(Path(__file__).parents[1] / "tiny.py")
WORDS = ["training.scoring:scoring", "--training.scoring.decides", "score"]


def test_the_last_score_is_that_of_the_result(tmp_path):
    one = ["--variant", "scaled", "--seeds", "1", "--runs", str(tmp_path)]
    assert main(["run", TINY, *one, *WORDS, "--training.steps", "12"]) == 0
    run = tmp_path / "tiny/scaled/seed-0"
    valid = [row for row in read(run) if row["split"] == "valid"]
    assert all("exact_match" in row for row in valid)
    assert len(valid) > 1
    trained = evaluate(open_trained(run, trust=True), split="valid")
    assert valid[-1]["exact_match"] == pytest.approx(trained.metrics["exact_match"])
    result = parse_json((run / "result.json").read_text())
    best = max(row["exact_match"] for row in valid)
    assert result["best_validation_exact_match"] == pytest.approx(best)
    assert result["best_validation_loss"] is None


def test_what_is_not_decoded_cannot_be_scored(capsys, tmp_path):
    given = ["run", "nadaraya_watson", "--runs", str(tmp_path), *WORDS[:1]]
    assert main([*given, "--seeds", "1"]) == 2
    assert "training.scoring scores answers, and nothing of" in capsys.readouterr().err
