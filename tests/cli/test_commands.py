"""The commands that look at a finished run."""

import io
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnjax.lab.cli.main import main
from attnjax.lab.runs.json_files import read_sealed, write_sealed
from attnjax.lab.trained.evaluate import Evaluation
from tests import tiny
from tests.cli.saying import TINY, sentence
from tests.runs.hostile import resealed


@pytest.mark.long
def test_a_folder_of_other_settings(capsys, damaged, tmp_path):
    command = ["run", TINY, "--runs", str(tmp_path), "--variant", "cosine"]
    said = sentence(capsys, *command, "--model.dropout", "0.2")
    assert "was run with model.dropout 0.1, not 0.2: choose another --runs" in said
    said = sentence(capsys, *command, "model.residual:pre-norm")
    assert (
        "was run with model.residual PostNorm(norm=LayerNorm(epsilon=1e-06)), not PreNorm(" in said
    )
    # a variant that was run is in the same table as the one that is asked for
    other = [*command[:-1], "scaled", "--training.steps", "7"]
    assert "cosine/seed-0 was run with training.steps 6, not 7" in sentence(capsys, *other)
    config = read_sealed(damaged / "config.json")
    write_sealed(damaged / "config.json", {**config, "experiment": "other"})
    said = sentence(capsys, *command)
    assert "is a run of experiment other, not tiny: choose another --runs" in said


def test_a_changed_file_with_parts_of_its_own(capsys, damaged, tmp_path):
    path = damaged.parents[2] / "tiny.py"
    path.write_text(Path(TINY).read_text().replace("clip(1e-6)", "clip(1e-5)"))
    said = sentence(capsys, "run", str(path), "--runs", str(tmp_path), "--variant", "cosine")
    assert "was run with another text of Cosine in tiny.py" in said


def test_damaged_folders(capsys, damaged):
    evaluate = ["evaluate", str(damaged)]
    vocabulary = damaged / "vocabulary" / "vocabulary.json"
    whole = vocabulary.read_text()
    vocabulary.write_text(whole[:20])
    assert "is damaged" in sentence(capsys, *evaluate)
    from attnjax.data.generated.sequences import Copy

    Copy(symbols=7).load().vocabularies.save(damaged / "vocabulary")
    assert "the vocabulary of another run" in sentence(capsys, *evaluate)
    vocabulary.write_text(whole)

    for path in (damaged / "checkpoints").rglob("*"):
        if path.is_file():
            path.write_bytes(b"")
    assert "checkpoint" in sentence(capsys, *evaluate)
    shutil.rmtree(damaged / "checkpoints")
    assert "has no checkpoints" in sentence(capsys, *evaluate)

    config = damaged / "config.json"
    record = json.dumps(read_sealed(config)).replace("experiment.Cosine", "os.system")
    write_sealed(config, json.loads(record))
    assert "no part of attnjax nor of the experiment file" in sentence(capsys, *evaluate)
    config.write_text("{")
    assert "config.json is damaged" in sentence(capsys, *evaluate)
    shutil.rmtree(damaged)
    assert "is not the folder of a run" in sentence(capsys, *evaluate)


def test_evaluate_repeats_the_runs_own_score(capsys, run):
    capsys.readouterr()
    assert main(["evaluate", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    result = json.loads((run / "result.json").read_text())
    scored = {"name": "exact_match", "better": "higher", "value": found["exact_match"]}
    assert scored in result["metrics"]
    assert (found["on"], found["sentences"]) == ("test", 8)
    assert main(["evaluate", str(run), "--split", "valid", "--beam", "2"]) == 0
    assert "exact_match" in capsys.readouterr().out
    assert "unknown split 'nothing'; choose from test, train, valid" in sentence(
        capsys, "evaluate", str(run), "--split", "nothing"
    )


def test_evaluate_prints_four_digits_and_writes_all_as_json(capsys, monkeypatch, run):
    found = Evaluation(on="test", sentences=123_456, metrics={"exact_match": 2 / 3}, details={})
    monkeypatch.setattr("attnjax.lab.trained.evaluate.evaluate", lambda *_, **__: found)
    capsys.readouterr()
    assert main(["evaluate", str(run)]) == 0
    assert capsys.readouterr().out == (
        f"run: {run}\non: test\nsentences: 123456\nexact_match: 0.6667\n"
    )
    assert main(["evaluate", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exact_match"] == 2 / 3
    found.metrics["word_perplexity"] = math.inf
    assert main(["evaluate", str(run), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert printed["word_perplexity"] is None
    assert main(["evaluate", str(run)]) == 0
    assert "word_perplexity: ∞\n" in capsys.readouterr().out


def test_evaluate_on_files(capsys, run, tmp_path, monkeypatch):
    source, reference = tmp_path / "source", tmp_path / "reference"
    asked = [f"{n} {m}" for n in range(6) for m in range(6)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(asked).encode())))
    capsys.readouterr()
    assert main(["predict", str(run)]) == 0
    answers = capsys.readouterr().out.split("\n")
    # hardly trained, it answers some by nothing
    pairs = [pair for pair in zip(asked, answers, strict=False) if pair[1]]
    assert pairs
    source.write_text("".join(f"{line}\n" for line, _ in pairs))
    reference.write_text("".join(f"{answer}\n" for _, answer in pairs))
    words = ["evaluate", str(run), "--source", str(source), "--reference", str(reference)]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exact_match"] == 1
    reference.write_text("1\n" * (len(pairs) + 1))
    assert "equally many lines" in sentence(capsys, *words)


def predicted(monkeypatch, content: bytes, run: Path, *words: str) -> int:
    """Return the exit code of predict with this standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    return main(["predict", str(run), *words])


def test_a_long_line_is_refused_by_its_number(capsys, run, tmp_path, monkeypatch):
    long = "1\n\n" + "1 " * 500_000
    expected = "line 3 of standard input has 500,001 symbols (END counted); at most 1,000 are"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(long.encode())))
    said = sentence(capsys, "predict", str(run))
    assert expected in said
    assert "--max-symbols raises the limit" in said
    source, reference = tmp_path / "source", tmp_path / "reference"
    source.write_text("1 2\n1 2 3\n")
    reference.write_text("1\n1\n")
    words = ["evaluate", str(run), "--source", str(source), "--reference", str(reference)]
    said = sentence(capsys, *words, "--max-symbols", "3")
    assert f"line 2 of {source} has 4 symbols" in said
    assert main([*words, "--max-symbols", "4"]) == 0


def test_files_are_looked_for_under_attnjax_data(capsys, run, tmp_path, monkeypatch):
    (tmp_path / "corpus").mkdir()
    for name in ("test.1", "test.2"):
        # a byte order mark is no word
        (tmp_path / "corpus" / name).write_text("\ufeff1 2\n", encoding="utf-8")
    monkeypatch.setenv("ATTNJAX_DATA", str(tmp_path))
    capsys.readouterr()
    words = ["--source", "corpus/test.1", "--reference", "corpus/test.2", "--json"]
    assert main(["evaluate", str(run), *words]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 1
    said = sentence(capsys, "evaluate", str(run), "--source", "none", "--reference", "none")
    assert f"there is no file none in {Path.cwd()}, nor one under ATTNJAX_DATA=" in said


def test_files_may_be_those_of_a_shell_s_commands(run):
    words = f"{sys.executable} -m attnjax evaluate {run}"
    words += " --source <(printf '1 2\\n2\\n') --reference <(printf '2 1\\n2\\n')"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True)
    assert "sentences: 2" in done.stdout, done.stderr


def test_nothing_is_logged_beside_the_answers(capsys, run, monkeypatch, caplog):
    assert predicted(monkeypatch, b"1\n", run) == 0
    assert main(["evaluate", str(run)]) == 0
    assert not caplog.records
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["evaluate", "RUN", "--split", ""], "unknown split ''; choose from test, train, valid"),
        (["evaluate", "RUN", "--beam", "99999999999999999999"], "from 1 to 1,000; got '9999"),
        (["evaluate", "RUN", "--beam", "0"], "wanted a whole number from 1 to 1,000; got '0'"),
        (["predict", "RUN", "--max-symbols", "-1"], "wanted a whole number from 1 to"),
        (["evaluate", "x" * 5000], "File name too long"),
        (["evaluate", "~nobody/run"], "~nobody/run is not the folder of a run"),
        (
            ["evaluate", "RUN", "--source", "~no-such-user/x", "--reference", "y"],
            "is not a usable path",
        ),
        (["evaluate", "RUN", "--source", "x" * 5000, "--reference", "y"], "is not a usable path"),
        (["report", "x" * 5000], "File name too long"),
        (["run", "x" * 5000], "File name too long"),
        (["run", "~nobody/x.py"], "the experiment file ~nobody/x.py does not exist"),
        (["run", TINY, "--runs", "x" * 5000], "File name too long"),
        (["run", "\udcff.py"], "an argument must be UTF-8; got '\\udcff.py'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_odd_names_and_numbers_are_one_sentence(capsys, run, words, expected):
    assert expected in sentence(capsys, *(str(run) if word == "RUN" else word for word in words))


@pytest.mark.parametrize("name", ["config.json", "result.json", "vocabulary/vocabulary.json"])
def test_json_that_is_nested_too_deeply(capsys, damaged, name):
    (damaged / name).write_text("[" * 100_000 + "]" * 100_000)
    assert f"{name} is damaged" in sentence(capsys, "evaluate", str(damaged))


def test_a_record_that_is_nested_too_deeply(capsys, damaged):
    config = read_sealed(damaged / "config.json")
    deep: list = []
    for _ in range(400):
        deep = [deep]
    write_sealed(damaged / "config.json", {**config, "settings": deep})
    assert "is damaged" in sentence(capsys, "evaluate", str(damaged))


def test_somebody_elses_program_is_run_when_trusted_only(capsys, damaged, monkeypatch):
    """The file that it was made from is not on this machine."""
    for path in damaged.parents[1].glob("*/*/config.json"):
        resealed(path, path="/home/somebody/tiny.py")
    for command in (["evaluate", str(damaged)], ["report", str(damaged.parents[1])]):
        assert "add --trust to run it" in sentence(capsys, *command)
        assert main([*command, "--trust"]) == 0
    assert predicted(monkeypatch, b"1\n", damaged, "--trust") == 0


def test_predict_answers_in_order(capsys, run, monkeypatch):
    lines = [(" ".join(map(str, range(n)))) for n in (4, 1, 0, 3, 2)]
    answers = []
    for given in (lines, *([line] for line in lines)):
        text = "".join(line + "\n" for line in given).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        capsys.readouterr()
        assert main(["predict", str(run)]) == 0
        answers.append(capsys.readouterr().out.split("\n")[:-1])
    assert len(answers[0]) == 5
    assert answers[0][2] == ""
    assert answers[0] == [answer for (answer,) in answers[1:]]
    # a byte order mark is no word
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf0\n")))
    assert main(["predict", str(run)]) == 0
    assert capsys.readouterr().out == answers[0][1] + "\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\n2 \xff\n")))
    assert "line 2 of standard input is not UTF-8: it has the byte 0xff" in sentence(
        capsys, "predict", str(run)
    )


def test_one_seed_has_no_spread(run, tmp_path):
    shutil.copytree(run, tmp_path / "tiny" / "cosine" / "seed-0")
    assert main(["report", str(tmp_path)]) == 0
    summary = json.loads((tmp_path / "tiny" / "summary.json").read_text())
    (row,) = summary["rows"]
    assert row["seeds"] == [0]
    assert {column["deviation"] for column in row["columns"]} == {None}


def test_lines_are_answered_as_they_come(capsys, monkeypatch, run):
    """Whatever the pieces in which they come, with a number, a score and an answer each."""
    lines = b"\xef\xbb\xbf1 2\r\n\n3"
    assert predicted(monkeypatch, lines, run) == 0
    answers = capsys.readouterr().out.split("\n")
    assert len(answers) == 4
    assert answers[1] == ""
    monkeypatch.setattr("attnjax.lab.cli.commands.predict.AT_ONCE", 2)
    assert predicted(monkeypatch, lines, run) == 0
    assert capsys.readouterr().out.split("\n") == answers
    assert predicted(monkeypatch, lines, run, "--n-best", "2", "--beam", "2") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "3", "3"]
    assert float(rows[0][1]) >= float(rows[1][1])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\n\xff\n")))
    assert "line 2 of standard input is not UTF-8: it has the byte 0xff" in sentence(
        capsys, "predict", str(run)
    )


def test_samples_are_those_of_the_lines_numbers(capsys, monkeypatch, run, tmp_path):
    """However the lines come, and as `evaluate` draws them for the lines of a file."""
    lines = ["1 2 3", "", "1 2 3", "1 2 3", "4"]
    draws = "search:sample", "--search.temperature", "9"
    capsys.readouterr()
    content = "".join(f"{line}\n" for line in lines).encode()
    assert predicted(monkeypatch, content, run, *draws) == 0
    at_once = capsys.readouterr().out
    first, _, *others = at_once.splitlines()
    assert len({first, *others}) == 4, "equal lines have draws of their own"
    monkeypatch.setattr("attnjax.lab.cli.commands.predict.AT_ONCE", 2)
    assert predicted(monkeypatch, content, run, *draws) == 0
    assert capsys.readouterr().out == at_once
    file, answers = str(tmp_path / "lines"), str(tmp_path / "answers")
    Path(file).write_bytes(content)
    words = ["evaluate", str(run), "--source", file, "--reference", file, "--answers", answers]
    assert main([*words, *draws]) == 0
    evaluated = Path(answers).read_text().splitlines()
    assert [evaluated[0], *evaluated[2:]] == [first, *others]


def test_data_inspect_prints_the_lengths_the_padding_and_a_row_of_the_data(capsys):
    assert main(["data", "inspect", TINY, "--rows", "1"]) == 0
    cells = [line.split() for line in capsys.readouterr().out.splitlines()]
    corpus = tiny.base.task.load()
    symbols = {split: examples.lengths[:, 0].sum() for split, examples in corpus.splits.items()}
    for row in ("train", "source", "48"), ("test", "target", "8"):
        assert [*row, str(symbols[row[0]])] in [line[:4] for line in cells]
    # three batches of [16, 5]
    wanted = ["training.batching", "3", "an", "epoch", f"{1 - symbols['train'] / 240:.1%}"]
    assert wanted in [line[:5] for line in cells]
    places = [line for line in cells if line[0].isdigit()]
    ids = [int(number) for _, _, number, *_ in places]
    assert ids in [example.source for example in corpus.splits["train"]]
    names = corpus.vocabularies.source.tokens(ids)
    assert [line[1::2] for line in places] == [[name, name] for name in names], "a copy"


def test_data_inspect_prints_labels_at_their_places(capsys):
    arena = str(Path(__file__).parents[1] / "tiny_arena.py")
    assert main(["data", "inspect", arena, "--rows", "1"]) == 0
    said = capsys.readouterr().out
    assert "the task's targets are labels at places of a source" in said, "none is packed"
    lines = [line.split() for line in said.splitlines()]
    words = [line for line in lines if line and line[0].isdigit()]
    # symbols, then the empty one with the label: are the 1s odd?
    *symbols, last = [line for line in words if line[1] != "<pad>"]
    assert all(len(line) == 3 for line in symbols)
    assert last[1] == "?"
    assert last[3] == str(sum(line[1] == "1" for line in symbols) % 2)
