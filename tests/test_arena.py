"""The arena: a row of one's own beside its records, its table, its picture, and its page."""

import math
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import attnjax
from attnjax.config.serialize import to_json
from attnjax.config.vary import vary
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.reporting import crossings, figure
from attnjax.lab.reporting.recorded import recorded
from attnjax.lab.reporting.table import plain
from attnjax.lab.results import lines
from attnjax.lab.results.judging import judge
from attnjax.lab.results.lines import read_records, write as write_record
from attnjax.lab.results.read import read_runs, recordings
from attnjax.lab.runs.catalog import shipped_records
from attnjax.lab.sweeps import plan
from attnjax.lab.sweeps.found import Found
from results_page import picture

ROOT = Path(__file__).parents[1]
TINY = ROOT / "tests" / "tiny_arena.py"
PROGRAM = ROOT / "docs" / "programs" / "arena.py"
BEYOND = "label_accuracy_beyond"
NOW = "2026-11-26T18:00:00+00:00"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A new user's folder: an arena of one task, its records, and the file of the page."""
    folder = tmp_path_factory.mktemp("arena")
    shutil.copy(TINY, folder / "arena.py")
    attnjax.run(folder / "arena.py", name="arena", runs=folder / "trained")
    made = recordings(read_runs(folder / "trained" / "arena"), load(folder / "arena.py"), NOW)
    write_record(made, folder / "records")
    text = runpy.run_path(str(PROGRAM))["MINE"]
    assert len([line for line in text.splitlines() if line]) <= 11
    (folder / "mine.py").write_text(text.replace('"arena"', f'"{folder / "arena.py"}"'))
    return folder


def test_an_idea_is_trained_alone_and_stands_in_the_table_of_everybody(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["run", "mine.py", "--dry-run", "--records"]) == 0
    planned = capsys.readouterr().out
    assert "3 of 9 runs are to be trained" in planned
    assert main(["run", "mine.py", "--records"]) == 0
    said = capsys.readouterr()
    trained = sorted(str(path) for path in Path("runs/mine").glob("*/seed-*"))
    assert trained == [f"runs/mine/parity-squared/seed-{seed}" for seed in range(3)]
    lines = said.out.splitlines()
    rows = [line.split()[0] for line in lines if re.match(r" ?(▸|softmax|lstm)", line)]
    assert rows == ["softmax", "lstm", "▸", "softmax", "lstm", "▸"]
    assert re.search(r"▸ squared +\d+ / \d+", said.out)
    assert "parity: squared is at least 2 points above softmax" in said.out
    assert "parity: squared is at most 2 points below the best" in said.out
    page = Path("runs/mine/report.html").read_text()
    assert "Share of right answers, rows by columns" in page
    assert "▸ squared" in page


def test_a_dry_run_plans_once(folder, monkeypatch, capsys):
    """Settings are serialised, variants planned, and files of records read, once each."""
    counts = Counter[str]()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            counts[name] += 1
            return function(*given, **named)

        return call

    monkeypatch.chdir(folder)
    for module in (sys.modules[load.__module__], plan):
        monkeypatch.setattr(module, "to_json", counted("settings", to_json))
    monkeypatch.setattr(Found, "_chosen", counted("planned", Found._chosen))
    monkeypatch.setattr(plan, "override", counted("overridden", plan.override))
    monkeypatch.setattr(plan, "apply_possible", counted("base overridden", plan.apply_possible))
    monkeypatch.setattr(lines, "_lines", counted("files", lines._lines))
    words = ["--records", "records", "--training.device_tokens", "64"]
    assert main(["run", "mine.py", "--dry-run", *words]) == 0
    variants = len(load(folder / "mine.py").ablation.variants)
    shipped = len([*shipped_records().glob("*.jsonl")])
    own = len([*(folder / "records").glob("*.jsonl")])
    assert variants == 3
    assert counts == {
        "settings": 2 * variants,  # as the file has them, and with the override
        "planned": variants,
        "overridden": variants,
        "base overridden": 1,
        "files": own + shipped,
    }
    assert "to be trained" in capsys.readouterr().out


def test_cells_have_means_intervals_and_the_best_of_each_column(folder):
    records = read_records(folder / "records")
    summary = judge(load(folder / "arena.py"), records)
    found = crossings.cells(summary)
    assert [(cell.row, cell.column) for cell in found] == [
        ("softmax", "parity"),
        ("lstm", "parity"),
    ]
    beyond = []
    for cell in found:
        runs = [made for made in records if made.variant == f"parity-{cell.row}"]
        for number, name in enumerate(("label_accuracy", "label_accuracy_beyond")):
            values = [item.value for made in runs for item in made.metrics if item.name == name]
            shown = cell.values[number]
            assert shown is not None
            mean, low, high = shown
            assert len(values) == 3
            assert mean == pytest.approx(sum(values) / 3)
            assert low <= mean <= high
        beyond.append(cell.means[1])
    assert [cell.best for cell in found] == [value == max(beyond) for value in beyond]
    shares, costs = crossings.parts(summary)
    assert shares.headings == ("parity",)
    assert [row[0] for row in shares.rows] == ["softmax", "lstm"]
    # keys and values of 8 numbers; the state and the cell of an LSTM
    assert [row[2:4] for row in costs.rows] == [("–", "16"), ("16", "–")]
    assert plain(summary).count("lstm") >= 2
    (part,) = crossings.with_intervals(summary)
    assert part.text == "parity"
    assert re.fullmatch(r"\d+\.\d \(\d+\.\d to \d+\.\d\)", part.rows[0][1])


def test_a_cell_of_fewer_seeds_says_so_and_one_that_diverged_is_below_all(folder):
    loaded, records = load(folder / "arena.py"), read_records(folder / "records")

    def with_beyond(record, value):
        metrics = (
            one if one.name != BEYOND else replace(one, value=value) for one in record.metrics
        )
        return replace(record, metrics=tuple(metrics))

    def told(softmax, lstm):
        """The cells of parity, by the shares beyond the trained length, of each seed."""
        rows = {"parity-softmax": softmax, "parity-lstm": lstm}
        made = [
            with_beyond(record, rows[record.variant][record.seed - first])
            for record in records
            if record.seed < first + len(rows[record.variant])
        ]
        shares, _ = crossings.parts(judge(loaded, made))
        return [row[1].partition(" / ")[2] for row in shares.rows]

    first = min(record.seed for record in records)
    assert told([0.5] * 3, [0.4] * 3) == ["50*", "40"]
    assert told([0.9], [0.4] * 3) == ["90 (1)", "40*"]
    assert told([0.9], [0.4]) == ["90*", "40"]
    assert told([math.nan, 0.9, 0.9], [0.4] * 3) == ["nan", "40*"]
    assert told([math.nan] * 3, [math.nan] * 3) == ["nan", "nan"]


def test_the_picture_of_a_crossing_is_its_table_of_shades(folder, tmp_path):
    experiment = recorded(load(folder / "arena.py"), read_records(folder / "records"))
    content = picture.shown(experiment)
    assert isinstance(content, picture.Crossed)
    places = [cell["place"] for cell in content.values["cells"]]
    assert places == ["parity", "parity, longer"] * 2
    assert not content.values["entered"]
    assert picture.draw(content, tmp_path / "arena.svg")
    assert "parity, longer" in (tmp_path / "arena.svg").read_text()


def test_an_experiment_without_a_crossing_has_neither(tiny_runs):
    loaded = load(ROOT / "tests" / "tiny.py")
    summary = judge(loaded, read_runs(tiny_runs / "tiny"))
    assert crossings.cells(summary) == []
    assert list(crossings.parts(summary)) == []
    assert figure.crossing(summary) is None


def test_the_page_of_the_arena_is_that_of_its_records():
    made = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=True)
    assert (ROOT / "docs" / "arena.md").read_text() == made.stdout, "run `make docs`"


def test_records_stand_in_for_every_row_of_the_arena_on_every_task():
    text = (ROOT / "docs" / "arena.md").read_text()
    table = text.partition("## The table")[2].partition("Of the first column")[0]
    shares = dict(re.findall(r"^\| (\w+) \| (.*) \|$", table, flags=re.MULTILINE))
    crossing = attnjax.load("arena").ablation.crossing
    assert list(shares) == list(crossing.rows)
    for cells in shares.values():
        assert [" / " in cell for cell in cells.split(" | ")] == [True] * len(crossing.columns)


def test_other_seeds_judge_cells_of_the_arena_at_the_rates_that_it_chose():
    peak = "optimizer.schedule.peak"
    arena = attnjax.load("arena").ablation
    confirmed = attnjax.load("arena_confirmed").ablation
    chosen = {
        record.variant: record.tuned[peak]
        for record in read_records(ROOT / "records")
        if record.experiment == "arena" and record.variant in confirmed.variants
    }
    assert set(chosen) == set(confirmed.variants)
    for name, rate in chosen.items():
        cell = confirmed.variants[name]
        assert cell.optimizer.schedule.peak == pytest.approx(rate)
        same = {peak: arena.variants[name].optimizer.schedule.peak}
        assert vary(cell, same) == arena.variants[name]
    assert not {*confirmed.planned_seeds} & {*arena.planned_seeds}


def test_every_variant_of_the_arena_reads_its_task():
    """Each row in the shortest column, and each column with softmax: nothing is compiled."""
    ablation = attnjax.load("arena").ablation
    crossing = ablation.crossing
    assert len(ablation.variants) == len(crossing.rows) * len(crossing.columns)
    chosen = {crossing.variant(row, "parity") for row in crossing.rows}
    chosen |= {crossing.variant("softmax", column) for column in crossing.columns}
    for name in sorted(chosen):
        experiment = ablation.variants[name]
        corpus = _few(experiment.task).load()
        resolved = experiment.resolve(corpus)
        ablation.check_claims(name, resolved)
        for measure in resolved.measures:
            measure.check(resolved.model, corpus)
        batch = corpus.splits["test"]
        source = batch.source.padded(np.arange(8), (8, int(batch.source.lengths.max())))
        asked = batch.target.padded(np.arange(8), (8, int(batch.target.lengths.max())))
        call = partial(resolved.model.init_with_output, deterministic=True)
        shapes, _ = jax.eval_shape(call, jax.random.key(0), source, asked)
        assert shapes.shape == (*asked.shape[:2], corpus.vocabularies.target.size)


def _few(task):
    return vary(task, {"train": 16, "valid": 8, "test": 64})
