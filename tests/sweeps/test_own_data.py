"""`attnjax run` on generated data: every seed has data of its own, the same in all variants."""

import json
from pathlib import Path

import numpy as np
import pytest

from attnjax.data.generated.sequences import Copy
from attnjax.data.loaded import Corpora
from attnjax.lab.cli.main import main
from attnjax.lab.loop.run_state import RunGroup
from attnjax.lab.trained.evaluate import evaluate
from attnjax.lab.trained.trained_run import open_trained
from attnjax.training.train_setup import TrainSetup

TINY = str(Path(__file__).parents[1] / "tiny.py")
TASK = Copy(symbols=6, longest=4, train=48, valid=8, test=8)
ONE_LENGTH = ("--task.symbols", "20", "--task.shortest", "4")


def result(run: Path) -> dict:
    return json.loads((run / "result.json").read_text())


def values(run: Path) -> list[float]:
    kept = result(run)
    return [one["value"] for one in kept["metrics"]] + [kept["best_validation_loss"]]


def test_variants_are_paired_by_seed(tiny_runs):
    tested = {
        (variant, seed): result(tiny_runs / "tiny" / variant / f"seed-{seed}")["test_set"]
        for variant in ("scaled", "cosine")
        for seed in (0, 1)
    }
    for seed in (0, 1):
        of_seed = TASK.of_seed(seed).load().digest("test")
        assert tested["scaled", seed] == tested["cosine", seed] == of_seed
    assert tested["scaled", 0] != tested["scaled", 1]
    rows = json.loads((tiny_runs / "tiny" / "summary.json").read_text())["rows"]
    assert len({row["test_set"] for row in rows}) == 1
    assert rows[0]["test_set"] is not None


@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_is_evaluated_on_its_own_data(tiny_runs, seed):
    run = tiny_runs / "tiny" / "scaled" / f"seed-{seed}"
    trained = open_trained(run)
    assert trained.experiment.task == TASK.of_seed(seed)
    answers = evaluate(trained).metrics["exact_match"]
    assert answers == result(run)["metrics"][0]["value"]
    assert evaluate(trained, split="valid").sentences == 8


def test_a_dry_run_compares_each_run_with_the_data_of_its_seed(tiny_runs, capsys):
    assert main(["run", TINY, "--runs", str(tiny_runs), "--dry-run"]) == 0
    assert "0 of 4 runs are to be trained" in capsys.readouterr().out


def test_seeds_together_are_as_they_are_alone(tmp_path):
    words = ["run", TINY, "--variant", "scaled", *ONE_LENGTH, "--runs"]
    assert main([*words, str(tmp_path / "together")]) == 0
    assert main([*words, str(tmp_path / "alone"), "--together", "1"]) == 0
    for seed in (0, 1):
        run = Path("tiny", "scaled", f"seed-{seed}")
        ours, theirs = (values(tmp_path / which / run) for which in ("together", "alone"))
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_each_run_gets_the_batches_of_its_data(tmp_path, monkeypatch):
    """Batches are the same bits with other seeds beside them, alone, and in another order."""
    seen: dict[int, list[np.ndarray]] = {}
    shard = RunGroup._shard

    def watched(group, batches):
        for run, batch in zip(group.runs, batches, strict=True):
            seen.setdefault(run.run.seed, []).append(batch.target)
        return shard(group, batches)

    monkeypatch.setattr(RunGroup, "_shard", watched)
    assert main(["run", TINY, "--variant", "scaled", "--runs", str(tmp_path)]) == 0
    corpora = Corpora().of(TASK)
    for seed in (0, 1):
        held = {
            tuple(example.target)
            for split in ("train", "valid")
            for example in (corpora.of_seed(seed).splits[split])
        }
        rows = {tuple(row[row > 0].tolist()) for batch in seen[seed] for row in batch} - {()}
        assert rows == held


def test_the_shapes_of_a_group_are_those_of_all_its_seeds():
    corpus = Corpora().of(Copy(train=60, valid=10, test=10))
    from tests.tiny import base

    setup = TrainSetup.of(base.resolve(corpus).recipe, corpus)
    three = setup.of_seeds(corpus, [1, 2, 3])
    again = setup.of_seeds(corpus, [3, 2, 1])
    for seed in (1, 2, 3):
        for step in range(4):
            ours, theirs = (each.plan_of(seed).batch(step, seed) for each in (three, again))
            np.testing.assert_array_equal(ours.target, theirs.target)
        assert len(three.valid_of(seed)) == len(setup.valid)


def test_a_given_seed_gives_all_runs_the_same_data(tmp_path):
    words = ["run", TINY, "--variant", "scaled", "--task.seed", "0", "--training.steps", "1"]
    assert main([*words, "--runs", str(tmp_path)]) == 0
    tested = {result(tmp_path / "tiny" / "scaled" / f"seed-{n}")["test_set"] for n in (0, 1)}
    assert tested == {TASK.load().digest("test")}


def test_a_run_of_given_data_has_the_data_of_its_config(tmp_path, capsys):
    words = ["run", TINY, "--variant", "scaled", "--training.steps", "1", "--runs", str(tmp_path)]
    assert main([*words, "--task.seed", "0"]) == 0
    run = tmp_path / "tiny" / "scaled" / "seed-1"
    assert open_trained(run).experiment.task.load() == TASK.of_seed(0).load()
    assert main(words) == 2
    assert "was run with task.seed 0, not null" in capsys.readouterr().err


def test_runs_with_other_data_make_no_ensemble(tiny_runs, capsys):
    runs = [str(tiny_runs / "tiny" / "scaled" / f"seed-{seed}") for seed in (0, 1)]
    assert main(["evaluate", *runs]) == 2
    assert "must have one task; task.seed is 0" in capsys.readouterr().err
