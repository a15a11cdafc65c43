"""Runs that somebody else has made, by each command: a sentence, or harmless."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from attnjax.files import file_digest
from attnjax.lab.cli.main import main
from attnjax.lab.runs.json_files import read_sealed
from tests.cli.saying import sentence
from tests.runs.damage import FILE, changed, contents, copied, resealed
from tests.runs.hostile import resealed as with_values

SEALED = ("config.json", "result.json")
PLAIN = ("references.json", "sentences.json", "attention.json")
OTHERS = ("metrics.jsonl", "hypotheses.txt", "vocabulary/vocabulary.json", "experiment.py")
HOSTILE = "\x1b]0;x\x07\x1b[2J\x9b31m[link=x]y[/z]<script>"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Iterator[Path]:
    """Return the current folder, with programs that nobody wants to run; end what hangs."""
    for name in ("evil.py", "a.py", "x.py", "tiny.py"):
        (tmp_path / name).write_text("from pathlib import Path\nPath('executed').touch()\n")
    monkeypatch.chdir(tmp_path)
    signal.alarm(300)
    yield tmp_path
    signal.alarm(0)


def commands(runs: Path) -> list[list[str]]:
    """Return the commands that are typed of somebody's runs."""
    run = str(runs / "tiny/scaled/seed-0")
    other = str(runs / "tiny/scaled/seed-1")
    return [
        ["compare", run, other, "--sentences", "3"],
        ["compare", other, run, "--sentences", "3"],
        ["record", str(runs), "--to", "records", "--trust"],
        ["checkpoints", run],
        ["checkpoints", run, "--export", "export"],
        ["report", str(runs), "--trust"],
    ]


def tried(capsys, words: list[str], place: Path) -> str:
    """Return what a command says; nothing is executed, no other place is written to."""
    capsys.readouterr()
    code = main(words)
    printed = "".join(capsys.readouterr())
    assert code in (0, 2), printed
    assert printed.replace("\n", "").replace("\xa0", "").isprintable(), printed
    assert not list(place.rglob("executed*"))
    names = {path.name for path in place.iterdir()}
    assert names <= {"evil.py", "a.py", "x.py", "tiny.py", "runs", "records", "export"}
    for records in place.glob("records/*"):
        assert records.name in ("tiny.jsonl", ".lock"), records
    shutil.rmtree(place / "records", ignore_errors=True)
    shutil.rmtree(place / "export", ignore_errors=True)
    return printed


def fitting(run: Path, name: str) -> None:
    """Give the result the digest of a file that was changed, where it can be read."""
    files = read_sealed(run / "result.json")["files"]
    if name in files and (run / name).is_file():
        with_values(run / "result.json", files=files | {name: file_digest(run / name)})


def harmed(run: Path, draw: np.random.Generator) -> str:
    """Damage a file of a run that is drawn."""
    way = draw.integers(3)
    if way == 0:
        name = SEALED[draw.integers(len(SEALED))]
        return f"{name}: {resealed(run / name, draw)}"
    if way == 1:
        name = PLAIN[draw.integers(len(PLAIN))]
        content = json.loads((run / name).read_text())
        done = changed(content, draw)
        (run / name).write_text(json.dumps(content))
    else:
        names = (*SEALED, *PLAIN, *OTHERS)
        name = names[draw.integers(len(names))]
        done = FILE[draw.integers(len(FILE))](run / name, draw)
        if name in SEALED:
            return f"{name}: {done}"
    fitting(run, name)
    return f"{name}: {done}"


@pytest.mark.parametrize(
    "seeds", [range(36), pytest.param(range(36, 240), marks=pytest.mark.long)], ids=str
)
def test_damaged_runs_are_a_sentence_or_harmless(tiny_runs, place, capsys, seeds):
    for seed in seeds:
        draw = np.random.default_rng(seed)
        runs = copied(tiny_runs, place / "runs")
        done = harmed(runs / "tiny/scaled/seed-0", draw)
        words = commands(runs)[seed % 6]
        try:
            tried(capsys, words, place)
        except BaseException as error:
            error.add_note(f"{done}, by {words[0]}, seed {seed}")
            raise


def test_no_text_of_a_run_steers_the_terminal(tiny_runs, place, capsys):
    runs = copied(tiny_runs, place / "runs")
    for run in runs.glob("tiny/*/seed-*"):
        versions = {"jax": HOSTILE, HOSTILE: "1"}
        with_values(run / "result.json", device=HOSTILE, versions=versions, notes=[HOSTILE])
        (run / "failed.json").write_text(json.dumps({"reason": HOSTILE}))
    said = "".join(tried(capsys, words, place) for words in commands(runs))
    assert "\\u001b" in said or "\\x1b" in said


@pytest.mark.parametrize("name", ["sentences.json", "hypotheses.txt", "references.json"])
def test_what_a_result_says_nothing_of_is_not_read(tiny_runs, place, capsys, name):
    runs = copied(tiny_runs, place / "runs")
    run = runs / "tiny/scaled/seed-0"
    files = read_sealed(run / "result.json")["files"]
    del files[name]
    with_values(run / "result.json", files=files)
    (run / name).rename(place / "a.py")
    (run / name).symlink_to(place / "a.py")  # somebody's private file
    before = contents(runs)
    for words in (*commands(runs)[:3], commands(runs)[-1]):
        said = sentence(capsys, *words)
        assert f"{run / name} is not of this result: result.json does not name it" in said
    assert contents(runs) == before


def test_compare_reads_whole_files_alone(tiny_runs, place, capsys):
    runs = copied(tiny_runs, place / "runs")
    path = runs / "tiny/scaled/seed-0/sentences.json"
    content = json.loads(path.read_text())
    content["statistics"][0] = [0 if value else 1 for value in content["statistics"][0]]
    path.write_text(json.dumps(content))
    for words in commands(runs)[:2]:
        assert f"{path} is damaged" in sentence(capsys, *words)


def test_files_of_another_variant_are_not_taken_for_a_runs_own(tiny_runs, tmp_path, capsys):
    """Both variants have parameters of equal shapes, and files whose own digests are right."""
    for name in ("config.json", "checkpoints"):
        runs = tmp_path / name.partition(".")[0] / "tiny"
        shutil.copytree(tiny_runs / "tiny", runs)
        ours, theirs = (runs / variant / "seed-0" / name for variant in ("scaled", "cosine"))
        if theirs.is_dir():
            shutil.rmtree(ours)
            shutil.copytree(theirs, ours)
        else:
            shutil.copy(theirs, ours)
        assert main(["evaluate", str(ours.parent), "--trust"]) == (
            0 if name == "config.json" else 2
        )
        said = capsys.readouterr().err
        assert f"{ours.parent}" in said
        if name == "config.json":
            assert "config.json is damaged: it is not as it was when the run was finished" in said
            assert main(["report", str(runs), "--trust"]) == 2
            assert "config.json is damaged" in capsys.readouterr().err
        else:
            assert "the checkpoints in " in said
            assert " are not those of its result.json: restore them" in said
