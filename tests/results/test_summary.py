"""What the summary says of runs that differ from their file, and of a metric of one's own."""

import io
import json
import shutil
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attnjax.config.override import split
from attnjax.evaluation.measurement import MetricKey
from attnjax.experiment import Claim, Difference, Published, Slope, Value
from attnjax.experiment.load import ExperimentFile, load
from attnjax.lab.cli.main import main
from attnjax.lab.reporting.evidence import verdict
from attnjax.lab.reporting.table import plain
from attnjax.lab.results.folder import reload, summarize
from attnjax.lab.results.judging import _of_planned_steps
from attnjax.lab.results.summary import Summary
from attnjax.lab.runs.result import read_result
from attnjax.lab.runs.run_folder import STEPS, write_result
from attnjax.lab.sweeps.plan import resolve
from attnjax.lab.sweeps.request import Request
from tests.experiment.test_claims import runs

TINY = Path(__file__).parents[1] / "tiny.py"
EXACT = MetricKey("exact_match")
CHOICE = "model.decoder_layer.feed_forward:gated-feed-forward"
CHOSEN = "GatedFeedForward(width=16, activation=silu, dropout=0.0)"


def summary_of(folder: Path) -> Summary:
    return summarize(folder, reload(folder))


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> Path:
    """A run whose data and number of steps are not the file's."""
    folder = tmp_path_factory.mktemp("changed")
    words = ["--variant", "scaled", "--seeds", "1", "--training.steps", "1", "--task.test", "4"]
    with redirect_stderr(io.StringIO()) as said:
        assert main(["run", str(TINY), "--runs", str(folder), *words, CHOICE]) == 0
    (folder / "tiny" / "stderr.txt").write_text(said.getvalue())
    return folder / "tiny"


def test_a_chosen_part_is_shown_with_its_fields(changed, tmp_path, capsys):
    path = CHOICE.partition(":")[0]
    (found,) = [one for one in summary_of(changed).changes if one.path == path]
    assert (found.file, found.run) == (
        "FeedForward(width=16, activation=relu, dropout=0.0)",
        CHOSEN,
    )
    assert f"{path}: {CHOSEN} (the file: " in (changed / "report.html").read_text()
    assert f"{path} is {CHOSEN}\n" in (changed / "stderr.txt").read_text()
    overrides = tuple(split([CHOICE, "search:beam"])[1])
    request = Request(loaded=load(TINY), seeds=1, folder=tmp_path, overrides=overrides)
    search, other = resolve(request).parts()
    assert search.startswith("search is Beam(size=")
    assert other == f"{path} is {CHOSEN}"


def test_what_was_changed_from_the_file_is_said(changed, capsys):
    summary = summary_of(changed)
    assert {(one.path, one.file, one.run) for one in summary.changes} == {
        ("training.steps", "6", "1"),
        ("task.test", "8", "4"),
        (CHOICE.partition(":")[0], "FeedForward(width=16, activation=relu, dropout=0.0)", CHOSEN),
    }
    lines = plain(summary).splitlines()
    assert lines[1] == "changed from the experiment file:"
    assert "  task.test: 4 (the file: 8)" in lines[2:5]
    assert "task.test: 4 (the file: 8)" in (changed / "report.html").read_text()


def test_statements_about_another_task_are_left_out(changed):
    """Neither a claim nor a paper's figure stands beside what was made of other data."""
    summary = summary_of(changed)
    assert summary.claims == ()
    assert summary.published == ()
    reasons = {one.text: one.reason for one in summary.left_out}
    assert reasons == {
        "It learns.": "task.test of scaled was changed",
        "Cosines learn.": "cosine was not run",
        "Nobody, Table 0: scaled, bleu 1.0": "task.test of scaled was changed",
    }
    text = (changed / "report.html").read_text()
    assert "It learns.: task.test of scaled was changed" in text
    assert "Published beside ours" not in text


def test_variants_that_were_not_run_are_named(changed, tmp_path):
    folder = shutil.copytree(changed, tmp_path / "tiny")
    both = Claim(text="They differ.", estimand=Difference("exact_match", "hot", "cold"), low=0.0)
    over = tuple((f"at_{width}", float(width)) for width in range(1, 10))
    slope = Claim(text="It grows.", estimand=Slope("exact_match", over=over, axis="width"), low=0.0)
    loaded = load(TINY)
    absent = dict.fromkeys(["hot", "cold", *(name for name, _ in over)], loaded.ablation.base)
    variants = {**loaded.ablation.variants, **absent}
    ablation = replace(loaded.ablation, variants=variants, claims=(both, slope), published=())
    few, many = summarize(folder, replace(loaded, ablation=ablation)).left_out
    assert few.reason == "hot, cold were not run"
    assert many.reason == "at_1, at_2, at_3, at_4, at_5, at_6 and 3 more were not run"


@pytest.fixture
def finished(tmp_path) -> tuple[Path, ExperimentFile]:
    words = ["--variant", "scaled", "--seeds", "2", "--training.steps", "1"]
    assert main(["run", str(TINY), "--runs", str(tmp_path), *words]) == 0
    return tmp_path / "tiny", load(TINY)


def with_statements(loaded: ExperimentFile, *claims: Claim, published=()) -> ExperimentFile:
    ablation = replace(loaded.ablation, claims=claims, published=published)
    return replace(loaded, ablation=ablation)


def test_statements_keep_their_meaning_when_the_training_is_shorter(finished):
    folder, loaded = finished
    figure = Published(
        paper="Nobody", table="Table 0", variant="scaled", metric="exact_match", value=1.0
    )
    claim = Claim(text="It learns.", estimand=Value("exact_match", "scaled"), low=0.0)
    other = replace(figure, why_not="another corpus")
    summary = summarize(folder, with_statements(loaded, claim, published=(figure, other)))
    (judged,) = summary.claims
    assert judged.text == "It learns."
    assert judged.verdict == "not trained"
    assert judged.reason == "scaled was trained for 1 of 6 planned steps"
    shown, alone = summary.published
    assert (alone.ours, alone.difference, alone.why_not) == (None, None, "another corpus")
    assert shown.ours == summary.rows[0].column(EXACT).mean
    assert [one.path for one in summary.changes] == ["training.steps"]


def test_a_verdict_on_runs_that_were_not_trained_has_no_p():
    """What decides nothing is in no count of verdicts by chance."""
    claim = Claim(text="", estimand=Value("x", "a"), low=0.0)
    judged = claim.judge(runs(a=[1.0, 1.1, 1.2]))
    assert judged is not None
    assert judged.p is not None
    shorter: Any = {"a": SimpleNamespace(changes={STEPS: (6, 1)})}
    found = _of_planned_steps(claim, judged, shorter)
    assert (found.verdict, found.p, found.more_seeds) == ("not trained", None, None)
    full: Any = {"a": SimpleNamespace(changes={})}
    assert _of_planned_steps(claim, judged, full) == judged


def test_a_claim_that_is_younger_than_the_runs_is_marked(finished):
    folder, loaded = finished
    first, *_ = loaded.ablation.claims
    reworded = replace(first, text="In other words.")
    assert [one.added for one in summarize(folder, with_statements(loaded, reworded)).claims] == [
        False
    ]
    moved = replace(first, low=0.1)
    (row,) = summarize(folder, with_statements(loaded, moved)).claims
    assert row.added
    assert verdict(row).endswith("added after the runs")


def test_a_run_says_what_it_is_of(finished):
    folder, loaded = finished
    summary = summarize(folder, loaded)
    (row,) = summary.rows
    assert row.cost is not None
    assert dict(row.cost.examples) == {"train": 48, "valid": 8, "test": 8}
    assert (row.cost.steps, row.cost.flops > 0) == (1, True)
    quarters = [(column.key.part, column.length) for column in row.by_length]
    assert [part for part, _ in quarters] == [(number, 4) for number in (1, 2, 3, 4)]
    assert [length for _, length in quarters] == sorted(length for _, length in quarters)
    whole = row.column(EXACT)
    assert np.mean([column.mean for column in row.by_length]) == pytest.approx(whole.mean)
    (field,) = summary.fields
    assert (field.paths, field.values) == (("training.steps",), ("6", "1"))
    meanings = dict(summary.meanings)
    assert meanings["exact match"] == "The share of answers that equal their reference, in [0, 1]."
    assert "alignment error" in meanings
    assert {"python", "jax", "sources", "date"} <= dict(summary.environment).keys()


@pytest.mark.long
def test_a_claim_about_what_nobody_measured_is_not_judged(finished):
    folder, loaded = finished
    claim = Claim(text="It sings.", estimand=Value("tone", "scaled"), low=0.5)
    summary = summarize(folder, with_statements(loaded, claim))
    assert summary.claims == ()
    assert [(one.text, one.reason) for one in summary.left_out] == [
        ("It sings.", "tone was not measured")
    ]


@pytest.mark.long
def test_what_an_old_run_lacks_keeps_its_place(finished):
    folder, loaded = finished
    run, error = folder / "scaled" / "seed-0", MetricKey("alignment_error")
    result = read_result(run)
    assert result is not None
    left = tuple(one for one in result.metrics if one.name != error.name)
    write_result(run, replace(result, metrics=left))
    column = summarize(folder, loaded).rows[0].column(error)
    assert column.values[0] is None
    assert column.mean == column.values[1]
    assert column.deviation is None


OWN = '''

@dataclass(frozen=True, kw_only=True)
class Shortness(Metric):
    """How many words an answer lacks."""

    better: ClassVar = "lower"

    name = "shortness"

    def statistics(self, hypotheses, references):
        pairs = zip(hypotheses, references, strict=True)
        return np.asarray([(abs(len(r.split()) - len(h.split())), 1) for h, r in pairs])

    def value(self, totals):
        return float(totals[0] / totals[1])


own = vary(base, {"metric": Shortness(), "training.steps": 1})
ablation = Ablation(
    base=own,
    variants={"own": own},
    seeds=3,
    claims=(Claim(text="Nothing is lost.", estimand=Value("shortness", "own"), high=0.5),),
)
'''


@pytest.mark.long
def test_a_metric_of_ones_own_is_judged_and_claimed_on(tmp_path, capsys):
    text = TINY.read_text().replace(
        "import jax\n",
        "from dataclasses import dataclass\nfrom typing import ClassVar\n\n"
        "import jax\nimport numpy as np\n"
        "from attnjax.evaluation.metric import Metric\n",
        1,
    )
    path = tmp_path / "own.py"
    path.write_text(text + OWN)
    assert main(["run", str(path), "--runs", str(tmp_path)]) == 0
    assert "shortness ↓" in capsys.readouterr().out
    summary = summary_of(tmp_path / "own")
    key = MetricKey("shortness")
    assert key in summary.keys(judged=True)
    assert summary.better(key) == "lower"
    (claim,) = summary.claims
    assert claim.metric == key
    assert len(claim.seeds) == 3
    # and it is evaluated and reported again from the folder
    run = tmp_path / "own" / "own" / "seed-0"
    assert main(["evaluate", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["shortness"] == summary.rows[0].column(key).values[0]
    assert main(["report", str(tmp_path / "own")]) == 0
    assert summary_of(tmp_path / "own").claims == summary.claims
