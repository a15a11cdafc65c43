"""Which runs are launched, in which order, and by which command."""

from dataclasses import replace
from pathlib import Path

import pytest

from attnjax.config.override import split
from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.lab.cli.main import main
from attnjax.lab.sweeps.found import Found
from launch.slurm.plan import LaunchedRun, Wanted, launched, stages

TINY = Path(__file__).parents[2] / "tiny.py"


def wanted(folder: Path, *words: str, **fields) -> Wanted:
    _, overrides = split(words)
    return Wanted(experiment=str(TINY), runs=folder, overrides=tuple(overrides), **fields)


def plan(folder: Path, *words: str, **fields) -> list[LaunchedRun]:
    chosen = wanted(folder, *words, **fields)
    return launched(chosen.request(chosen.load()))


def test_a_job_is_a_run(tmp_path):
    runs = plan(tmp_path)
    assert [run.words for run in runs] == [
        ["--variant", variant, "--seed", seed]
        for variant in ("scaled", "cosine")
        for seed in ("0", "1")
    ]
    assert runs[0].folders == (tmp_path / "tiny" / "scaled" / "seed-0",)
    assert len(plan(tmp_path, variant=("cosine",), seeds=3)) == 3


def test_a_variant_that_is_tuned_first_is_one_job(tmp_path):
    file = tmp_path / "tuned.py"
    text = TINY.read_text().replace(
        "    seeds=2,\n", '    seeds=2,\n    tune={"optimizer.schedule.value": (1e-3, 1e-2)},\n'
    )
    file.write_text(text)
    chosen = Wanted(experiment=str(file), runs=tmp_path)
    runs = launched(chosen.request(chosen.load()))
    assert [run.words for run in runs] == [
        ["--variant", variant, "--seed", "0", "--seed", "1"] for variant in ("scaled", "cosine")
    ]


def test_nothing_is_launched_where_all_runs_are_finished(tmp_path, monkeypatch):
    monkeypatch.setattr(Found, "unfinished", lambda found, runs: {})
    with pytest.raises(UserError, match="all runs of .*tiny are finished"):
        plan(tmp_path)


def test_the_words_are_those_of_attnjax_run(tmp_path):
    chosen = wanted(tmp_path, "--training.steps", "9", "search:greedy", setting="short")
    assert chosen.words("/far/tiny.py", "/far/runs") == [
        *("/far/tiny.py", "--runs", "/far/runs", "--setting", "short"),
        *("search:greedy", "--training.steps", "9"),
    ]


def test_attnjax_run_knows_the_words_of_every_job(tmp_path, capsys):
    """Also the words of seeds that the file alone does not have."""
    chosen = wanted(tmp_path, seeds=3)
    jobs = launched(chosen.request(chosen.load()))
    assert len(jobs) == 6
    for job in (jobs[0], jobs[-1]):  # of both variants
        words = [*chosen.words(str(TINY), str(tmp_path)), *job.words]
        assert main(["run", *words, "--dry-run"]) == 0, capsys.readouterr().err
        assert f"missing: {job.seeds[0]}" in capsys.readouterr().out


def run(name: str, needs: str | None = None) -> LaunchedRun:
    source = None if needs is None else Path(needs)
    return LaunchedRun(variant=name, seeds=(0,), folders=(Path(name),), needs=source)


def test_a_run_comes_after_the_one_that_it_begins_with():
    first, second, third = run("c"), run("b", "c"), run("a", "b")
    elsewhere = run("d", "trained/long/ago")
    assert stages([third, second, elsewhere, first]) == [[elsewhere, first], [second], [third]]


def test_a_circle_is_refused():
    with pytest.raises(UserError, match="begins, through others, with its own parameters"):
        stages([run("a", "b"), run("b", "a")])


def test_the_source_of_a_run_is_that_of_the_experiment(tmp_path):
    chosen = wanted(tmp_path)
    sweep = chosen.request(chosen.load())
    ablation = sweep.loaded.ablation
    begins = vary(ablation.base, {"initial_parameters_from": "tiny/cosine"})
    varied = replace(ablation, variants={**ablation.variants, "scaled": begins})
    sweep = replace(sweep, loaded=replace(sweep.loaded, ablation=varied))
    assert [run.needs for run in launched(sweep)] == [
        *(tmp_path / "tiny" / "cosine" / f"seed-{seed}" for seed in (0, 1)),
        *(None, None),
    ]
