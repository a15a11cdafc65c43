"""`attnjax run` of a file whose variants are tuned."""

import json
import re
import shutil
from dataclasses import replace
from itertools import cycle
from math import inf
from pathlib import Path

import pytest
from rich.console import Console

from attnjax.config.override import split
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.load import load
from attnjax.experiment.tuning import point_name
from attnjax.lab.cli.main import main
from attnjax.lab.loop import loop
from attnjax.lab.reporting.table import plain
from attnjax.lab.results.folder import reload, summarize
from attnjax.lab.results.summary import Summary
from attnjax.lab.sweeps import division, found as planning, train
from attnjax.lab.sweeps.checks import check_corpus
from attnjax.lab.sweeps.division import tuning_groups
from attnjax.lab.sweeps.finish import validation_score
from attnjax.lab.sweeps.found import Found, VariantRuns
from attnjax.lab.sweeps.plan import resolve
from attnjax.lab.sweeps.request import Request
from attnjax.lab.sweeps.sweep import sweep
from attnjax.lab.trained.evaluate import evaluate
from attnjax.lab.trained.trained_run import open_trained
from tests.training.looping import interrupt

TINY = Path(__file__).parents[1] / "tiny.py"
RATE = "optimizer.schedule.value"
RATES = (1e-7, 1e-2)
LONGER = (*RATES, 1e3)
"""The grid with the value that it is made longer by, since the best lies at its edge."""

SEED = 1_000_000

TUNED = """

from attnjax.evaluation.metric import Metric


class Mistakes(Metric):
    name = "mistakes"
    better = "higher"

    def statistics(self, hypotheses, references):
        found = [(h.split(), r.split()) for h, r in zip(hypotheses, references, strict=True)]
        wrong = [len(r) - sum(map(str.__eq__, h, r)) for h, r in found]
        return np.asarray([(n, len(r)) for n, (_, r) in zip(wrong, found, strict=True)])

    def value(self, totals):
        return float(totals[0] / totals[1])


changes = {"metric": Mistakes(), "measures": (), "training.steps": 60, "task.test": 24}
base = vary(base, changes)
score = "model.encoder_layer.self_attention.head.score"
ablation = Ablation(
    base=base,
    variants={"scaled": base, "cosine": vary(base, {score: Cosine()})},
    tune={"optimizer.schedule.value": (1e-7, 1e-2)},
    tune_seeds=2,
)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """An experiment file whose metric rewards mistakes: test data would choose the other rate."""
    path = tmp_path_factory.mktemp("file") / "tuned.py"
    path.write_text("import numpy as np\n" + TINY.read_text().replace('"""', "'''") + TUNED)
    return path


def run(path: Path, folder: Path, *words: str) -> int:
    return main(["run", str(path), "--runs", str(folder), *words])


@pytest.fixture(scope="module")
def runs(path, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert run(path, folder) == 0
    return folder


def point(runs: Path, rate: float, variant: str = "scaled", seed: int = SEED) -> Path:
    return runs / "tuned" / variant / "tune" / point_name({RATE: rate}) / f"seed-{seed}"


def content(path: Path) -> dict:
    return json.loads(path.read_text())


def summary_of(runs: Path) -> Summary:
    return summarize(runs / "tuned", reload(runs / "tuned"))


def losses(runs: Path, variant: str = "scaled") -> list[tuple[float, ...]]:
    """The loss of each seed at each rate of the longer grid; infinity: the training diverged."""
    runs_of = [[point(runs, rate, variant, SEED + more) for more in (0, 1)] for rate in LONGER]
    results = [[content(run / "result.json") for run in seeds] for seeds in runs_of]
    return [tuple(run["best_validation_loss"] or inf for run in seeds) for seeds in results]


@pytest.mark.long
def test_the_lowest_validation_loss_is_chosen_though_the_test_score_says_otherwise(runs):
    slow, fast, wild = (sum(seeds) / 2 for seeds in losses(runs))
    assert fast < slow
    assert fast < wild
    on_test = [evaluate(open_trained(point(runs, rate))).metrics["mistakes"] for rate in RATES]
    assert on_test[0] > on_test[1], "by the test split's score the slow one would be better"
    settings = content(runs / "tuned" / "scaled" / "seed-0" / "config.json")["settings"]
    assert settings["optimizer"]["schedule"]["value"] == 1e-2
    assert not (point(runs, 1e-2) / "hypotheses.txt").exists()


@pytest.mark.long
def test_the_seed_that_tunes_is_no_other_runs(runs):
    config, result = (content(point(runs, 1e-7) / name) for name in ("config.json", "result.json"))
    assert config["seed"] == result["seed"] == SEED
    assert (config["variant"], config["tuned"]) == ("scaled", [])
    assert config["settings"]["optimizer"]["schedule"]["value"] == 1e-7
    trained = content(runs / "tuned" / "scaled" / "seed-0" / "config.json")
    assert (trained["seed"], trained["tuned"]) == (0, [RATE])


@pytest.mark.long
def test_summary_table_and_report_show_the_choice(runs):
    summary = summary_of(runs)
    assert summary.changes == (), "a tuned value is none that was changed"
    assert [one.variant for one in summary.tunings] == ["scaled", "cosine"]
    for one in summary.tunings:
        assert (one.seeds, one.fields, one.chosen) == ((SEED, SEED + 1), (RATE,), (1e-2,))
        assert [tried.values for tried in one.points] == [(rate,) for rate in LONGER]
        assert [tried.losses for tried in one.points] == losses(runs, one.variant)
        assert [tried.loss for tried in one.points] == [
            sum(tried.losses) / 2 for tried in one.points
        ]
        assert one.edges == []
    printed, page = plain(summary), (runs / "tuned" / "report.html").read_text()
    assert re.search("1e-07: [0-9.]+, 0.01: [0-9.]+", printed)
    for text in (printed, page):
        said = " ".join(text.split())
        by = f"the lowest validation loss, mean of seeds {SEED}, {SEED + 1}"
        assert f"{RATE}: tuned by {by}" in said
        assert "at the grid's edge" not in said.replace("&#39;", "'")


@pytest.mark.long
def test_what_is_there_is_not_tuned_again(path, runs, capsys, monkeypatch):
    monkeypatch.setattr(loop, "train", None)
    assert run(path, runs) == 0
    said = capsys.readouterr().err
    assert "scaled: 1 of 1 runs are there already" in said
    assert "tunes" not in said
    # one more seed is trained as the others were
    monkeypatch.undo()
    copy = path.parent / "more"
    shutil.copytree(runs, copy)
    monkeypatch.setattr(division, "tuning_groups", None)
    assert run(path, copy, "--variant", "scaled", "--seeds", "2") == 0
    assert summary_of(copy).rows[0].seeds == (0, 1)
    settings = content(copy / "tuned" / "scaled" / "seed-1" / "config.json")["settings"]
    assert settings["optimizer"]["schedule"]["value"] == 1e-2


def test_only_the_chosen_variants_are_tuned_and_the_cost_is_said_first(
    path, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(Experiment, "answers", None)
    interrupt(monkeypatch, 0)
    assert run(path, tmp_path, "--variant", "cosine") == 75
    first = capsys.readouterr().err.splitlines()[0]
    assert first == (
        f"tunes 1 variant x 2 values x 2 seeds first: {RATE} of 1e-07, 0.01; chosen by the mean "
        "validation loss"
    )
    assert not (tmp_path / "tuned" / "scaled").exists()


@pytest.mark.long
def test_resumed_tuning_equals_uninterrupted(path, runs, tmp_path, monkeypatch):
    interrupt(monkeypatch, 40)
    assert run(path, tmp_path, "--variant", "scaled") == 75
    assert not (point(tmp_path, 1e-2) / "result.json").exists()
    assert run(path, tmp_path, "--variant", "scaled") == 0
    assert losses(tmp_path) == losses(runs)
    ours, theirs = (
        content(folder / "tuned" / "scaled" / "seed-0" / "result.json")["metrics"]
        for folder in (tmp_path, runs)
    )
    assert ours == theirs


@pytest.mark.long
def test_a_damaged_point_is_named(path, runs, tmp_path, capsys):
    folder = shutil.copytree(runs, tmp_path / "runs")
    damaged = point(folder, 1e-7) / "result.json"
    damaged.write_text(damaged.read_text().replace('"step": 60', '"step": 61'))
    for words in (["run", str(path), "--runs", str(folder)], ["report", str(folder)]):
        assert main(words) == 2
        assert f"{damaged} is damaged" in capsys.readouterr().err


@pytest.mark.long
def test_other_settings_are_refused(path, runs, capsys):
    assert run(path, runs, "--model.dropout", "0.2") == 2
    said = capsys.readouterr().err
    assert f"{point(runs, 1e-7)} was run with model.dropout 0.1, not 0.2" in said


@pytest.mark.parametrize(
    ("word", "tuned"),
    [
        (f"--{RATE}=1e-3", False),
        ("optimizer.schedule:noam", False),
        ("optimizer:adadelta", False),
        ("--optimizer.clip=1.0", True),
    ],
)
def test_an_override_of_a_field_or_of_a_part_above_it_leaves_nothing_to_tune(path, word, tuned):
    _, overrides = split([word])
    request = Request(loaded=load(path), folder=Path(), overrides=tuple(overrides))
    assert request.grid == ({RATE: RATES} if tuned else {})


@pytest.mark.long
def test_an_override_of_a_tuned_field_is_said(path, tmp_path, capsys):
    short = ["--training.steps", "1", "--variant", "scaled"]
    assert run(path, tmp_path, f"--{RATE}=1e-3", *short) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"{RATE} is not tuned: the command line sets it\n")
    assert "tunes" not in said
    assert not (tmp_path / "tuned" / "scaled" / "tune").exists()
    summary = summary_of(tmp_path)
    assert summary.tunings == ()
    (change,) = [one for one in summary.changes if one.path == RATE]
    assert change.file == "tuned over 1e-07, 0.01"


@pytest.mark.long
def test_a_grown_grid_trains_what_is_new_and_keeps_a_choice_that_holds(path, runs, tmp_path):
    folder = shutil.copytree(runs, tmp_path / "runs")
    wider = tmp_path / "tuned.py"
    wider.write_text(path.read_text().replace("(1e-7, 1e-2)", "(1e-7, 1e-2, 1e38)"))
    before = point(folder, 1e-2) / "result.json"
    stamp = before.stat().st_mtime_ns
    assert run(wider, folder, "--variant", "scaled") == 0
    assert before.stat().st_mtime_ns == stamp
    summary = summarize(folder / "tuned", load(wider))
    (tuning, _) = summary.tunings
    assert tuning.points[-1].loss == float("inf")
    assert tuning.edges == []
    assert "1e+38: diverged" in plain(summary)
    # another choice than that of the seeds that are there
    narrower = tmp_path / "narrow" / "tuned.py"
    narrower.parent.mkdir()
    narrower.write_text(path.read_text().replace("(1e-7, 1e-2)", "(1e-7, 1e38)"))
    request = Request(loaded=load(narrower), variants=("scaled", "cosine"), folder=folder / "tuned")
    why = sweep(request, Console(quiet=True))["scaled"]
    assert re.search(rf"was run with {RATE} 0.01, not 1e-\d+: choose another", why)


@pytest.mark.long
def test_a_variant_that_diverges_everywhere_is_said(path, tmp_path, capsys):
    wild = tmp_path / "tuned.py"
    wild.write_text(path.read_text().replace("(1e-7, 1e-2)", "(1e37, 1e38)"))
    words = ["--variant", "scaled", "--training.steps", "8"]
    for _ in range(2):
        assert run(wild, tmp_path, *words) == 2
        said = capsys.readouterr().err
        assert "scaled cannot be tuned: its training diverged at every point of the grid" in said


def test_tuning_needs_validation_examples(path, tmp_path):
    scaled = Found(resolve(Request(loaded=load(path), folder=tmp_path))).variants()[0]
    corpus = scaled.experiment.task.load()
    splits = {name: split for name, split in corpus.splits.items() if name != "valid"}
    with pytest.raises(UserError, match="by the validation loss, and the corpus has no validation"):
        check_corpus(scaled, replace(corpus, splits=splits))


def test_points_are_scored_in_no_process(path, tmp_path, monkeypatch):
    """All processes wait for the first one's score: where it has none, no other may want one."""
    scores = []

    def stop(experiment, corpus, *_, **__):
        scores.append(validation_score(experiment, corpus))
        raise UserError("stop")

    monkeypatch.setattr(train, "announced", stop)
    assert run(path, tmp_path, "--variant", "scaled", "training.scoring:scoring") == 2
    assert scores == [None]


def test_a_score_that_decides_is_no_loss_to_tune_by(path, tmp_path, capsys):
    words = ["training.scoring:scoring", "--training.scoring.decides", "score"]
    assert run(path, tmp_path, *words) == 2
    assert "tuning chooses by the validation loss" in capsys.readouterr().err


def test_tuning_has_no_pretrained_run_of_its_own_seed(path, tmp_path):
    plan = resolve(Request(loaded=load(path), folder=tmp_path))
    scaled = plan.variants["scaled"]
    corpus = scaled.experiment.task.load()

    def begun(source: str) -> VariantRuns:
        own = replace(scaled.experiment, initial_parameters_from=source)
        return Found(plan).of(replace(scaled, experiment=own))

    with pytest.raises(UserError, match="the seed 1000000; name one run .* as read/words/seed-0"):
        check_corpus(begun("read/words"), corpus)
    check_corpus(begun("read/words/seed-0"), corpus)


@pytest.mark.long
def test_points_that_differ_in_more_than_the_schedule_are_trained_apart(path, tmp_path):
    two = tmp_path / "tuned.py"
    grid = '{"optimizer.schedule.value": (1e-3, 1e-2), "model.dropout": (0.0, 0.3)}'
    two.write_text(path.read_text().replace('{"optimizer.schedule.value": (1e-7, 1e-2)}', grid))
    _, overrides = split(["--training.steps", "3"])
    request = Request(
        loaded=load(two),
        variants=("scaled",),
        seeds=1,
        folder=tmp_path,
        overrides=tuple(overrides),
    )
    found = Found(resolve(request))
    (scaled,) = found.variants()
    together = tuning_groups(scaled, found.unfinished(scaled.tuning))
    assert [experiment.model.dropout for experiment in together] == [0.0, 0.3]
    for runs in together.values():
        rates = [run.experiment.optimizer.schedule.value for run in runs]
        assert rates == [1e-3] * 2 + [1e-2] * 2
    assert sweep(request, Console(quiet=True)) == {}
    found.forget_missing()
    (scaled,) = found.variants()
    tried = [(run.experiment.optimizer.schedule.value, run.experiment) for run in scaled.tuning]
    dropouts = [experiment.model.dropout for _, experiment in tried]
    assert {*dropouts} == {0.0, 0.3}, "0 has no ratio to the next"
    assert len({rate for rate, _ in tried}) == 3
    losses_of_seeds = [found.result(run).best_validation_loss for run in scaled.tuning]
    means = [sum(losses_of_seeds[index : index + 2]) for index in range(0, 12, 2)]
    best = scaled.tuning[2 * means.index(min(means))].experiment
    assert scaled.seeds[0].experiment == best
    assert found.result(scaled.seeds[0]) is not None


def test_show_says_what_is_tuned(path, capsys):
    assert main(["show", str(path)]) == 0
    assert f"tunes each variant first: {RATE} of 1e-07, 0.01" in capsys.readouterr().out


def losses_at_points(monkeypatch, losses) -> None:
    """Let the points of the grid, in their order, have these losses whenever they are read."""
    in_turn = cycle(losses)
    monkeypatch.setattr(planning, "seed_losses", lambda _: next(in_turn))


def test_the_first_of_equal_losses_is_chosen(monkeypatch):
    tried = [(0.5, 0.5), (0.25, 0.75), (inf, 0.0), (0.75, 0.25)]
    losses_at_points(monkeypatch, tried)
    monkeypatch.setattr(Request, "grid", {RATE: (2.0, 1.0, 3.0, 4.0)})
    found = Found(resolve(Request(loaded=load(TINY), folder=Path())))
    assert found.of(found.plan.variants["cosine"]).choice[0] == {RATE: 2.0}
