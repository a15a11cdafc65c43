"""`attnjax run` end to end, on a file of seconds."""

import json
import os
import shutil
import signal
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from attnjax.config.override import split
from attnjax.config.serialize import from_json
from attnjax.errors import UserError
from attnjax.evaluation.attention_record import SENTENCES
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.log import metrics_log
from attnjax.lab.loop.run_state import RunGroup
from attnjax.lab.results.folder import reload, summarize
from attnjax.lab.results.summary import LeftOut, Summary
from attnjax.lab.runs.json_files import write_sealed
from attnjax.lab.runs.manifest import manifest
from attnjax.lab.runs.result import read_result
from attnjax.lab.sweeps.checks import check_folders
from attnjax.lab.sweeps.found import Found
from attnjax.lab.sweeps.plan import resolve
from attnjax.lab.sweeps.request import Request
from attnjax.lab.sweeps.sweep import sweep

TINY = str(Path(__file__).parents[1] / "tiny.py")
FILES = {
    "config.json",
    "experiment.py",
    "metrics.jsonl",
    "result.json",
    "hypotheses.txt",
    "sentences.json",
}


def content(path: Path) -> dict:
    return json.loads(path.read_text())


def stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.glob("*/seed-*/**/*")}


def test_a_run_leaves_what_is_promised(tiny_runs):
    folder = tiny_runs / "tiny"
    for variant in ("scaled", "cosine"):
        for seed in (0, 1):
            run = folder / variant / f"seed-{seed}"
            assert FILES | {"checkpoints", "vocabulary", "attention.json"} <= {
                path.name for path in run.iterdir()
            }
            result = content(run / "result.json")
            assert (result["variant"], result["seed"], result["step"]) == (variant, seed, 6)
            assert len((run / "hypotheses.txt").read_text().splitlines()) == 8
            assert (run / "experiment.py").read_text() == Path(TINY).read_text()
    parameters = {content(path)["parameters"] for path in folder.glob("*/seed-*/result.json")}
    # 10 words x 16; 3 attentions of 4 x 16 x 16; 2 feed-forwards; 5 normalizations
    assert parameters == {10 * 16 + 3 * 4 * 256 + 2 * (2 * 256 + 32) + 5 * 32}


def summary_of(folder: Path) -> Summary:
    return summarize(folder, reload(folder))


def measured(run: Path) -> dict[MetricKey, float]:
    found = map(Measurement.of, read_result(run).metrics)
    return {one.key: one.value for one in found}


def test_the_summary_is_of_the_runs(tiny_runs):
    summary = summary_of(tiny_runs / "tiny")
    assert [(row.variant, row.seeds) for row in summary.rows] == [
        ("scaled", (0, 1)),
        ("cosine", (0, 1)),
    ]
    row, error = summary.rows[0], MetricKey("alignment_error")
    values = [measured(tiny_runs / "tiny" / run)[error] for run in row.runs]
    column = row.column(error)
    assert column.values == tuple(values)
    assert column.mean == pytest.approx(sum(values) / 2)
    assert column.deviation == pytest.approx(abs(values[0] - values[1]) / 2**0.5)
    assert column.better == "lower"
    assert summary.keys(judged=True) == [MetricKey("exact_match"), error]
    described = summary.keys(judged=False)
    assert {one.moment for one in described if one.name == "logit_variance"} == {
        "initial",
        "trained",
    }
    assert len({row.test_set for row in summary.rows} - {None}) == 1
    learns, cosines = summary.claims
    assert learns.region == (0.0, float("inf"))
    assert cosines.metric == MetricKey("exact_match")
    assert (cosines.verdict, cosines.reason) == ("undecided", "fewer than 3 seeds")
    assert summary.title.startswith("Can a tiny Transformer copy?")
    assert summary.changes == ()
    assert summary.command.startswith("attnjax run")
    assert (tiny_runs / "tiny" / "report.html").read_text().startswith("<!doctype html>")


def test_seeds_differ_and_start_differently(tiny_runs):
    zero, one = (measured(tiny_runs / "tiny" / "scaled" / f"seed-{seed}") for seed in (0, 1))
    initial, trained = (MetricKey("logit_variance", moment=m) for m in ("initial", "trained"))
    assert zero[initial] != one[initial]
    assert zero[initial] != zero[trained]


def test_every_run_keeps_the_attention_of_a_few_sentences(tiny_runs):
    kept = from_json(content(tiny_runs / "tiny" / "scaled" / "seed-0" / "attention.json"))
    assert len(kept) == SENTENCES
    for sentence in kept:
        assert sentence.source == sentence.target, "a copy's symbols, the end among them"
        assert sentence.gold == (*((place,) for place in range(len(sentence.source) - 1)), ())
        for layer in sentence.layers:
            np.testing.assert_allclose(layer.array().sum(-1), 1, atol=0.02)


def test_an_override_may_be_of_a_part_that_only_the_variant_has(tmp_path):
    _, overrides = split(["--model.encoder_layer.self_attention.head.score.sharpness", "2"])
    request = Request(
        loaded=load(Path(TINY)),
        variants=("cosine",),
        seeds=None,
        folder=tmp_path,
        overrides=tuple(overrides),
    )
    plan = resolve(request)
    score = plan.variants["cosine"].experiment.model.encoder_layer.self_attention.head.score
    assert score.sharpness == 2
    # and what is there of the others stays comparable
    (tmp_path / "scaled" / "seed-0").mkdir(parents=True)
    there = manifest(request.loaded, "scaled", 0, request.loaded.settings["scaled"])
    write_sealed(tmp_path / "scaled" / "seed-0" / "config.json", asdict(there))
    check_folders(Found(plan))
    _, undoing = split(["model.encoder_layer.self_attention.head.score:dot"])
    with pytest.raises(UserError, match="conflicts with variant cosine, which is defined by model"):
        resolve(replace(request, overrides=tuple(undoing)))


def test_what_is_not_trained_to_its_end_says_so(tiny_runs, tmp_path, capsys):
    run = shutil.copytree(tiny_runs / "tiny" / "scaled" / "seed-0", tmp_path / "seed-0")
    for finished, warning in (
        (True, ""),
        (False, f"the training of {run} is not finished; these are its results so far:"),
    ):
        if not finished:
            (run / "result.json").unlink()
        capsys.readouterr()
        assert main(["evaluate", str(run)]) == 0
        said = capsys.readouterr()
        assert "exact_match" in said.out
        assert warning in said.err
        assert ("so far" in said.err) != finished


def test_what_a_variant_cannot_train_on_is_said_before_any_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr("attnjax.lab.loop.loop.train", None)
    text = Path(TINY).read_text()
    score = '{"model.encoder_layer.self_attention.head.score": Cosine()}'
    assert score in text
    crowded = score.replace("}", ', "training.batching.batch_size_multiple": 80}')
    (tmp_path / "crowded.py").write_text(text.replace(score, crowded))
    loaded = load(tmp_path / "crowded.py")
    request = Request(loaded=loaded, seeds=1, folder=tmp_path)
    with pytest.raises(UserError, match="more than batching.max_tokens=80"):
        sweep(request, Console(quiet=True))
    assert not (tmp_path / "scaled").exists()


FLAT = """

from attnjax.evaluation.metric import ExactMatch


class Flat(ExactMatch):
    def statistics(self, hypotheses, references):
        return super().statistics(hypotheses, references)[:, 0]


ablation = Ablation(base=base, variants={"scaled": base, "flat": vary(base, {"metric": Flat()})})
"""


def test_a_metric_with_a_mistake_is_said_before_any_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr("attnjax.lab.loop.loop.train", None)
    (tmp_path / "flat.py").write_text(Path(TINY).read_text() + FLAT)
    loaded = load(tmp_path / "flat.py")
    request = Request(loaded=loaded, seeds=1, folder=tmp_path)
    with pytest.raises(UserError, match=r"the metric Flat, .* got int64 of shape \(2,\)"):
        sweep(request, Console(quiet=True))
    assert not (tmp_path / "scaled").exists()


def test_what_is_there_is_not_run_again(tiny_runs, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("attnjax.lab.loop.loop.train", None)
    folder = shutil.copytree(tiny_runs / "tiny", tmp_path / "tiny")
    before = stamps(folder)
    assert main(["run", TINY, "--runs", str(tmp_path)]) == 0
    assert stamps(folder) == before
    assert "cosine: 2 of 2 runs are there already" in capsys.readouterr().err


def test_the_report_is_made_of_the_folders_alone(tiny_runs, tmp_path, capsys):
    folder = shutil.copytree(tiny_runs / "tiny", tmp_path / "tiny")
    before = content(folder / "summary.json")
    for name in ("summary.json", "report.html"):
        (folder / name).unlink()
    assert main(["report", str(tmp_path)]) == 0
    after = content(folder / "summary.json")
    forgotten = {"command": None, "file": None}
    assert {**after, **forgotten} == {**before, **forgotten}
    assert (folder / "report.html").exists()
    assert "scaled" in capsys.readouterr().out


@pytest.mark.long
def test_another_setting_is_reported_again_as_what_it_is(tmp_path, capsys):
    words = ["--setting", "short", "--variant", "shorter", "--runs", str(tmp_path)]
    assert main(["run", TINY, *words]) == 0
    folder = tmp_path / "tiny-short"
    before = content(folder / "summary.json")
    found = summary_of(folder)
    assert [row.variant for row in found.rows] == ["shorter"]
    assert [claim.text for claim in found.claims] == ["It hurries."]
    (folder / "summary.json").unlink()
    assert main(["report", str(tmp_path)]) == 0
    after = content(folder / "summary.json")
    assert after["command"] == "attnjax run tiny --setting short"
    forgotten = {"command": None, "file": None}
    assert {**after, **forgotten} == {**before, **forgotten}
    capsys.readouterr()
    assert main(["report", str(folder / "shorter" / "seed-0")]) == 2
    assert str(folder) in capsys.readouterr().err


def test_one_more_seed_joins_those_that_are_there(tiny_runs, tmp_path):
    shutil.copytree(tiny_runs / "tiny" / "scaled", tmp_path / "tiny" / "scaled")
    before = stamps(tmp_path / "tiny")
    # alone, one seed is trained without the axis of seeds: it must come out the same
    shutil.rmtree(tmp_path / "tiny" / "scaled" / "seed-1")
    assert main(["run", TINY, "--runs", str(tmp_path), "--variant", "scaled", "--seeds", "2"]) == 0
    kept = {path: at for path, at in before.items() if "seed-0" in path.parts}
    assert kept.items() <= stamps(tmp_path / "tiny").items()
    alone, together = (
        measured(root / "tiny" / "scaled" / "seed-1") for root in (tmp_path, tiny_runs)
    )
    assert alone == pytest.approx(together, rel=1e-3)
    summary = summary_of(tmp_path / "tiny")
    assert [row.seeds for row in summary.rows] == [(0, 1)]
    assert [claim.text for claim in summary.claims] == ["It learns."]
    assert summary.left_out == (LeftOut(text="Cosines learn.", reason="cosine was not run"),)


def press_at(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Press Ctrl-C once, while the batch of this step is taken."""
    batch = RunGroup.batch

    def press(self: RunGroup):
        if self.step == at:
            monkeypatch.setattr(RunGroup, "batch", batch)
            os.kill(os.getpid(), signal.SIGINT)
        return batch(self)

    monkeypatch.setattr(RunGroup, "batch", press)


def losses(run: Path) -> list[tuple[int, str, float]]:
    return [(row["step"], row["split"], row["loss"]) for row in metrics_log.read(run)]


@pytest.mark.long
def test_ctrl_c_keeps_what_is_done_and_the_next_call_goes_on(
    tiny_runs, tmp_path, capsys, monkeypatch
):
    command = ["run", TINY, "--runs", str(tmp_path), "--variant", "cosine"]
    press_at(monkeypatch, 4)
    assert main(command) == 75
    assert "the same command goes on" in capsys.readouterr().err
    run = tmp_path / "tiny" / "cosine" / "seed-0"
    assert not (run / "result.json").exists()
    assert main(["evaluate", str(tmp_path / "tiny")]) == 2
    assert main(command) == 0
    whole = content(tiny_runs / "tiny" / "cosine" / "seed-0" / "result.json")
    assert content(run / "result.json")["metrics"] == whole["metrics"]


@pytest.mark.long
@pytest.mark.parametrize("unsaved", [0, 1])
def test_a_kill_between_the_first_saves_of_two_seeds_does_not_part_them(
    tiny_runs, tmp_path, monkeypatch, unsaved
):
    command = ["run", TINY, "--runs", str(tmp_path), "--variant", "cosine"]
    with monkeypatch.context() as patched:
        press_at(patched, 4)
        assert main(command) == 75
    folder = tmp_path / "tiny" / "cosine"
    shutil.rmtree(folder / f"seed-{unsaved}" / "checkpoints")
    assert main(command) == 0
    for seed in ("seed-0", "seed-1"):
        assert content(folder / seed / "config.json")["together"] == ["seed-0", "seed-1"]
        assert losses(folder / seed) == losses(tiny_runs / "tiny" / "cosine" / seed)


def test_overrides_reach_every_variant_and_the_record(tmp_path):
    words = ["--training.steps", "2", "--variant", "cosine", "--seeds", "1", "search:beam"]
    assert main(["run", TINY, "--runs", str(tmp_path), "--search.size", "2", *words]) == 0
    settings = content(tmp_path / "tiny" / "cosine" / "seed-0" / "config.json")["settings"]
    assert settings["training"]["steps"] == 2
    assert settings["search"]["size"] == 2
    score = settings["model"]["encoder_layer"]["self_attention"]["head"]["score"]
    assert score["type"] == "experiment.Cosine"
