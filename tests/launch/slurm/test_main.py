"""`python -m launch.slurm`: what is submitted, followed, cancelled and submitted again."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from attnjax.errors import UserError
from attnjax.lab.runs import failures
from attnjax.lab.runs.run_folder import RESULT
from attnjax.lab.sweeps.found import Found
from launch.slurm import __main__ as slurm
from launch.slurm.shipping import CHANGES

TINY = str(Path(__file__).parents[2] / "tiny.py")
SITE = str(Path(__file__).parents[3] / "launch" / "sites" / "gpu.toml")
SQUEUE = ("squeue", "--me")

GOLDEN = Path(__file__).with_name("golden.txt")
"""What was printed and read through once: ATTNJAX_GOLDEN=write writes it anew."""
TEXT = "from tests.tiny import Cosine, ablation  # noqa: F401\n"
"""The experiment file of the golden text: it does not change with tests/tiny.py."""


@pytest.fixture
def submitted(recorder, tmp_path, capsys) -> Path:
    """Submit an experiment with four runs as array 12, the report as job 13; return its folder."""
    recorder.stand_in("sbatch", "squeue", "scancel")
    recorder.answer("sbatch", out="12\n")
    recorder.answer("sbatch", "--parsable", "--dependency=afterany:12", out="13;cluster\n")
    assert slurm.program([TINY, "--runs", str(tmp_path), "--yes"]) == 0
    capsys.readouterr()
    return tmp_path / "tiny"


def refused(capsys, *words: str) -> str:
    capsys.readouterr()
    assert slurm.program(list(words)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


def test_a_dry_run_prints_the_scripts_and_does_nothing(recorder, tmp_path, capsys):
    recorder.stand_in("sbatch", "squeue")
    file, runs = tmp_path / "small.py", tmp_path / "runs"
    file.write_text(TEXT)
    words = [str(file), "--site", SITE, "--runs", str(runs), "--training.steps", "9", "--dry-run"]
    assert slurm.program(words) == 0
    printed = capsys.readouterr()
    scripts = printed.out.replace(sys.executable, "$PYTHON").replace(str(runs), "$RUNS")
    if os.environ.get("ATTNJAX_GOLDEN") == "write":
        GOLDEN.write_text(scripts, encoding="utf-8")
    assert scripts == GOLDEN.read_text(encoding="utf-8")
    assert printed.err.startswith("4 jobs x 1 host x 12 h = 48 host-hours at most")
    assert not recorder.calls
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_needs_no_slurm(nothing_installed, tmp_path):
    assert slurm.program([TINY, "--runs", str(tmp_path), "--dry-run"]) == 0


def test_an_array_and_a_report_after_it_are_submitted(submitted, recorder):
    array, report = recorder.calls
    assert array.words == ["sbatch", "--parsable"]
    assert "#SBATCH --array=0-3\n" in array.text
    assert report.words == ["sbatch", "--parsable", "--dependency=afterany:12"]
    assert report.text.endswith(f"-m attnjax report {submitted}\n")


def test_the_experiment_file_goes_with_the_job(submitted, recorder):
    (copy,) = submitted.glob("slurm/*/tiny.py")
    assert copy.read_text() == Path(TINY).read_text()
    assert f"-m attnjax run {copy} --runs" in recorder.calls[0].text


def test_every_run_has_a_record_of_the_changes(submitted):
    found = sorted(submitted.glob(f"*/seed-*/{CHANGES}"))
    assert len(found) == 4
    assert found[0].read_text().startswith("commit ")


def test_a_setting_has_a_folder_of_its_own(recorder, tmp_path):
    recorder.stand_in("sbatch")
    recorder.answer("sbatch", out="5\n")
    words = [TINY, "--setting", "short", "--variant", "shorter", "--runs", str(tmp_path), "--yes"]
    assert slurm.program(words) == 0
    assert "#SBATCH --job-name=tiny-short\n" in recorder.calls[0].text
    assert (tmp_path / "tiny-short" / "slurm" / "5.json").exists()


def test_a_run_in_the_queue_is_not_submitted_again(submitted, recorder, capsys):
    recorder.answer(*SQUEUE, out="12_3|PENDING|Priority|tiny\n99|RUNNING|None|other\n")
    words = [TINY, "--runs", str(submitted.parent), "--yes"]
    said = refused(capsys, *words)
    assert "cosine/seed-1 is in the queue already, as task 12_3 (pending)" in said
    assert slurm.program([*words, "--variant", "scaled"]) == 0


def test_what_slurm_refuses_is_said_in_its_words(recorder, tmp_path, capsys):
    recorder.stand_in("sbatch")
    recorder.answer("sbatch", error="sbatch: error: invalid partition specified: x\n", code=1)
    said = refused(capsys, TINY, "--runs", str(tmp_path), "--yes")
    assert said == "attnjax: sbatch refuses: sbatch: error: invalid partition specified: x\n"


def test_without_slurm_it_is_said_where_slurm_is(nothing_installed, tmp_path, capsys):
    said = refused(capsys, TINY, "--runs", str(tmp_path), "--yes")
    assert "the program sbatch is not on this machine" in said
    assert not list(tmp_path.iterdir())


def test_nothing_is_submitted_without_consent(recorder, tmp_path, capsys, monkeypatch):
    recorder.stand_in("sbatch")
    monkeypatch.setattr("sys.stdin", None)
    assert "repeat with --yes" in refused(capsys, TINY, "--runs", str(tmp_path))
    assert not recorder.calls
    assert not list((tmp_path / "tiny").glob("**/*"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", ["y", "Yes"])
def test_a_yes_goes_on(monkeypatch, answer):
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    slurm.consent("Submit?", yes=False)


@pytest.mark.parametrize("answer", ["", "n", "perhaps"])
def test_anything_else_does_nothing(monkeypatch, answer):
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    with pytest.raises(UserError, match="nothing was done"):
        slurm.consent("Submit?", yes=False)


def test_without_a_terminal_only_the_option_says_yes(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(UserError, match="repeat with --yes"):
        slurm.consent("Submit?", yes=False)
    slurm.consent("Submit?", yes=True)


def test_the_status_is_that_of_the_queue_and_of_the_folders(submitted, recorder, capsys):
    recorder.answer(*SQUEUE, out="12_0|PENDING|Resources|tiny\n13|PENDING|Dependency|tiny-report\n")
    (submitted / "cosine" / "seed-0" / RESULT).write_text("{}")
    (submitted / "slurm" / "12_3.txt").write_text("step 5\nattnjax: no memory\n\n")
    failures.record(submitted / "scaled" / "seed-1", UserError("the loss is not finite"))
    assert slurm.program(["status", str(submitted)]) == 0
    rows = [line.split(maxsplit=3) for line in capsys.readouterr().out.splitlines()[1:5]]
    assert [[word.strip() for word in row] for row in rows] == [
        ["cosine/seed-0", "done", "12_2"],
        ["cosine/seed-1", "ended", "12_3", "attnjax: no memory"],
        ["scaled/seed-0", "pending", "12_0", "Resources"],
        ["scaled/seed-1", "ended", "12_1", "the loss is not finite"],
    ]


def test_cancel_ends_what_waits_or_runs(submitted, recorder, capsys):
    recorder.answer(*SQUEUE, out="12_0|RUNNING|None|tiny\n12_2|PENDING|Resources|tiny\n")
    assert slurm.program(["cancel", str(submitted), "--yes"]) == 0
    assert recorder.calls[-1].words == ["scancel", "12_0", "12_2"]
    recorder.answer(*SQUEUE, out="")
    assert slurm.program(["cancel", str(submitted), "--yes"]) == 0
    assert recorder.calls[-1].words[0] == "squeue"
    assert "no run of" in capsys.readouterr().out


def test_cancel_leaves_tasks_of_other_jobs_alone_that_a_strange_record_names(submitted, recorder):
    record = {"job": "77", "runs": [["other/seed-0"]]}
    (submitted / "slurm" / "77.json").write_text(json.dumps(record))
    recorder.answer(*SQUEUE, out="12_0|RUNNING|None|tiny\n77_0|RUNNING|None|other\n")
    assert slurm.program(["cancel", str(submitted), "--yes"]) == 0
    assert recorder.calls[-1].words == ["scancel", "12_0"]


def test_the_same_command_submits_what_is_not_done(submitted, recorder, monkeypatch):
    monkeypatch.setattr(Found, "unfinished", lambda found, runs: [*runs][1:])
    assert slurm.program([TINY, "--runs", str(submitted.parent), "--yes"]) == 0
    *_, array, report = recorder.calls
    assert "#SBATCH --array=0-1\n" in array.text
    assert "0) run=(--variant scaled --seed 1) ;;" in array.text
    assert report.words[0] == "sbatch"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"job": 12}, "job: wanted str"),
        ({"job": "../12"}, "job: wanted"),
        ({"runs": "scaled"}, "runs: wanted"),
        ({"runs": [[1]]}, "runs[0][0]: wanted str"),
        ({"run": []}, "unknown key 'run'; did you mean runs?"),
        ({"runs": None}, "the key runs is missing"),
        (None, "a JSON object was wanted"),
        ("{", "cannot be read"),
    ],
)
@pytest.mark.parametrize("command", ["status", "cancel"])
def test_a_record_that_is_none_is_refused_in_one_sentence(
    tmp_path, capsys, command, change, message
):
    path = tmp_path / "slurm" / "12.json"
    path.parent.mkdir()
    record = {"job": "12", "runs": [["scaled/seed-0"]]}
    if isinstance(change, dict):
        record = {key: value for key, value in {**record, **change}.items() if value is not None}
    else:
        record = [] if change is None else change
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    sentence = refused(capsys, command, str(tmp_path))
    assert str(path) in sentence
    assert message in sentence


def test_the_environment_of_a_site_reaches_sbatch_and_nothing_else(recorder, tmp_path, capsys):
    recorder.stand_in("sbatch", "squeue")
    recorder.answer("sbatch", out="12\n", environment={"DB_PASS": "open\nsesame"})
    site = tmp_path / "site.toml"
    site.write_text('lines = ["echo $DB_PASS"]\n[env]\nDB_PASS = "open\\nsesame"\n')
    words = [TINY, "--runs", str(tmp_path / "runs"), "--site", str(site)]
    assert slurm.program([*words, "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert slurm.program([*words, "--yes"]) == 0
    submission = capsys.readouterr()
    scripts = [call.text for call in recorder.calls if call.words[0] == "sbatch"]
    assert len(scripts) == 2
    assert shown.out == "\n".join([*scripts, ""]), "a dry run prints what is submitted"
    files = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert files
    printed = [*shown, *submission, *scripts, *(path.read_text() for path in files)]
    assert not [text for text in printed if "sesame" in text]


def test_a_folder_that_was_never_submitted_is_refused(tmp_path, capsys):
    said = refused(capsys, "status", str(tmp_path))
    assert said == f"attnjax: no runs of {tmp_path} were submitted to SLURM\n"


def test_an_unknown_option_names_the_nearest(tmp_path, capsys):
    assert "did you mean --seeds?" in refused(capsys, TINY, "--seds", "3")
    assert "did you mean scaled?" in refused(capsys, TINY, "--variant", "scald", "--dry-run")
