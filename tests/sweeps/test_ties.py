"""`attnjax run` of a file whose tuning cannot tell values apart: seeds are trained at each."""

import shutil
from itertools import cycle
from pathlib import Path

import pytest

from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.loop import loop
from attnjax.lab.reporting.recorded import recorded
from attnjax.lab.results.folder import reload, summarize
from attnjax.lab.results.lines import read_records
from attnjax.lab.sweeps import found as planning
from attnjax.lab.sweeps.found import Found
from attnjax.lab.sweeps.plan import resolve
from attnjax.lab.sweeps.request import Request
from results_page.page import page

TINY = Path(__file__).parents[1] / "tiny.py"
TIED = """

from attnjax.training.schedules import Cosine

# all updates are of the warm-up, so the decay that is tuned changes nothing
changes = {"optimizer.schedule": Cosine(peak=1e-2, warmup=9, decay=20), "training.steps": 2}
base = vary(base, changes)
ablation = Ablation(
    base=base,
    variants={"scaled": base, "longer": vary(base, {"training.steps": 3})},
    seeds=3,
    tune={"optimizer.schedule.decay": (20, 30)},
    tune_seeds=2,
    claims=(Claim(text="It learns.", estimand=Value("exact_match", "scaled"), low=-1.0),),
)
"""


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / "tied.py"
    path.write_text(TINY.read_text() + TIED)
    return path


def losses_at_points(monkeypatch, losses) -> None:
    """Let the points of the grid, in their order, have these losses whenever they are read."""
    in_turn = cycle(losses)
    monkeypatch.setattr(planning, "seed_losses", lambda _: next(in_turn))


def test_a_variant_that_a_claim_is_about_has_runs_at_tied_values(path, tmp_path, monkeypatch):
    losses_at_points(monkeypatch, [(0.5, 0.5), (0.4, 0.7)])
    found = Found(resolve(Request(loaded=load(path), seeds=2, folder=tmp_path)))
    scaled, longer = found.variants()
    assert [run.experiment.optimizer.schedule.decay for run in scaled.seeds] == [20, 20]
    assert longer.tied == []
    (runs,) = scaled.tied
    assert [run.experiment.optimizer.schedule.decay for run in runs] == [30, 30]
    there = tmp_path / "scaled" / "tied" / "optimizer.schedule.decay=30"
    assert [run.folder for run in runs] == [there / "seed-0", there / "seed-1"]
    assert not {run.folder for run in runs} & {run.folder for run in scaled.seeds}
    # nothing is known before the tuning is finished
    found.forget_missing()
    losses_at_points(monkeypatch, [(0.5, 0.5), None])
    assert found.variants()[0].tied == []


@pytest.mark.long
def test_seeds_are_trained_at_tied_values_which_summary_and_records_judge(
    path, tmp_path, capsys, monkeypatch
):
    runs, folder = tmp_path / "runs", tmp_path / "runs" / "tied"
    assert main(["run", str(path), "--runs", str(runs), "--verbose"]) == 0
    scaled = folder / "scaled" / "tied" / "optimizer.schedule.decay=30"
    assert {run.name for run in scaled.iterdir()} == {"seed-0", "seed-1", "seed-2"}
    assert not (folder / "longer" / "tied").exists(), "no claim is about it"
    same = "the same at 2 combinations of tied values"
    printed = " ".join(capsys.readouterr().out.split())
    assert same in printed
    assert same in " ".join((folder / "report.html").read_text().split())
    summary = summarize(folder, reload(folder))
    assert (summary.claims[0].verdict, summary.claims[0].combinations) == ("reproduced", 2)
    # nothing is left to do
    monkeypatch.setattr(loop, "train", None)
    assert main(["run", str(path), "--runs", str(runs), "--dry-run"]) == 0
    assert "0 of 17 runs are to be trained" in capsys.readouterr().out
    assert main(["run", str(path), "--runs", str(runs)]) == 0
    assert "scaled: 6 of 6 runs are there already" in capsys.readouterr().err
    # records say the same, of the same numbers
    assert main(["record", str(folder), "--to", str(tmp_path / "records")]) == 0
    records = read_records(tmp_path / "records")
    assert len({record.identity for record in records}) == len(records) == 9
    assert sum(record.tied for record in records) == 3
    of_records = recorded(reload(folder), records)
    (row,) = of_records.summary.judged[0].rows.values()
    assert (row.seeds, row.combinations) == (summary.claims[0].seeds, 2)
    assert same in page([of_records])
    # runs that are missing are waited for
    shutil.rmtree(scaled / "seed-2")
    assert main(["report", str(folder)]) == 0
    assert "not judged yet" in capsys.readouterr().out
    assert main(["run", str(path), "--runs", str(runs), "--dry-run"]) == 0
    assert "at tied values: 1 of 3 runs" in " ".join(capsys.readouterr().out.split())
