import errno
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnjax.cli.catalog import catalog
from attnjax.cli.main import main
from attnjax.runs.sealed import read_sealed, write_sealed

TINY = str(Path(__file__).parents[1] / "tiny.py")
HEADS = "model.encoder_layer.self_attention.heads"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A finished run, by greedy search."""
    folder = tmp_path_factory.mktemp("runs")
    words = ["--variant", "cosine", "--seeds", "1", "--runs", str(folder)]
    assert main(["run", TINY, *words]) == 0
    return folder / "tiny" / "cosine" / "seed-0"


@pytest.fixture
def damaged(run, tmp_path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(run, tmp_path / "tiny" / "cosine" / "seed-0"))


def sentence(capsys, *words: str, code: int = 2) -> str:
    """What a command says when it fails: one line, no traceback."""
    capsys.readouterr()
    assert main(list(words)) == code
    said = capsys.readouterr().err
    assert said.startswith("attnjax: ")
    assert said.count("\n") == 1, said
    return said


@pytest.mark.parametrize(
    "command, expected",
    [
        ("rum", "unknown command 'rum'; did you mean run?"),
        ("", "required: COMMAND"),
        ("run", "required: EXPERIMENT"),
        (
            "run scaling_and_head",
            "unknown experiment 'scaling_and_head'; did you mean scaling_and_heads?",
        ),
        ("run experiments/nothing.py", "there is no experiment file experiments/nothing.py"),
        (f"run {TINY} --variant scald", "unknown variant 'scald'; did you mean scaled?"),
        (f"show {TINY} --variant scald", "unknown variant 'scald'; did you mean scaled?"),
        (f"run {TINY} --sedes 3", "unknown option of run '--sedes'; did you mean --seeds?"),
        (f"run {TINY} extra", "unexpected argument 'extra'"),
        (f"run {TINY} --setting paper", "unknown setting 'paper'; choose from short"),
        (f"run {TINY} --model.width 0", "--model.width: wanted int above 0; got int 0"),
        (
            f"show {TINY} --objective.smoothing 2",
            "--objective.smoothing: wanted float at least 0 and below 1; got float 2",
        ),
        (
            f"show {TINY} --optimizer.clip nan",
            "--optimizer.clip: wanted float above 0 and finite or None; got float nan",
        ),
        (f"show {TINY} --model.vocabulary 3", "model.vocabulary is set from the data ("),
        (
            "show luong2015 --model.decoder.cell.width 3",
            "wanted None (the part around it sets the value); got",
        ),
        (f"run {TINY} --model.position learned", "a part is chosen by model.position:learned"),
        (
            f"run {TINY} --seeds three",
            "argument --seeds: wanted a whole number from 1 to 10,000; got 'three'",
        ),
        (f"run {TINY} --seeds 0", "from 1 to 10,000; got '0'"),
        (f"run {TINY} --model.encoder_layer.self_attention.head_s 3", f"did you mean {HEADS}?"),
        (f"show {TINY} --{HEADS} three", f"--{HEADS}: wanted int above 0; got 'three'"),
        (f"run {TINY} search:bean", "unknown part for search: 'bean'; did you mean beam?"),
        (f"run {TINY} --training.steps 0", "--training.steps: wanted int above 0; got int 0"),
        (
            f"run {TINY} --task.train 0",
            "--task.train: wanted int above 0 and at most 10000000; got int 0",
        ),
        (
            f"run {TINY} model.encoder_layer.self_attention.head.score:dot",
            "conflicts with variant cosine, which is defined by "
            "model.encoder_layer.self_attention.head.score; leave cosine out",
        ),
        (
            f"run {TINY} model.position:learned --model.position.max_length 3",
            "symbols (END counted); the model takes at most 3 (model.position.max_length)",
        ),
        ("evaluate nowhere", "nowhere is not the folder of a run: it has no config.json"),
        ("predict nowhere", "nowhere is not the folder of a run"),
        ("report nowhere", "there is no folder nowhere"),
        ("report tests", "tests holds no finished runs"),
        ("evaluate nowhere --source a", "--source and --reference go together"),
        ("evaluate nowhere --model.width 3", "evaluate takes no overrides"),
    ],
)
def test_a_mistake_is_one_sentence(capsys, tmp_path, command, expected):
    words = command.split()
    more = ["--runs", str(tmp_path)] if words[:1] == ["run"] else []
    assert expected in sentence(capsys, *words, *more)
    assert not list(tmp_path.iterdir()), "nothing was begun"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("ablation = 3", "must define `ablation`"),
        ("def :", "line 1, is not Python"),
        ("import nothing_of_this_name", "line 1, failed: ModuleNotFoundError: No module named"),
        ("\nnumber = 1 / 0", "line 2, failed: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "line 2, failed: SystemExit: 3"),
        ("from attnjax.errors import UserError\nraise UserError('so not')", "so not"),
    ],
)
def test_a_file_that_is_no_experiment(capsys, tmp_path, text, expected):
    path = tmp_path / "mine.py"
    path.write_text(text)
    assert expected in sentence(capsys, "run", str(path))


def test_an_experiment_alone_is_its_only_variant(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        Path(TINY).read_text().replace("\nbase = ", "\nexperiment = base = ") + "\ndel ablation\n"
    )
    assert main(["show", str(path)]) == 0
    assert "variants: experiment; 1 seed each" in capsys.readouterr().out


def test_a_folder_of_other_settings(capsys, damaged, tmp_path):
    command = ["run", TINY, "--runs", str(tmp_path), "--variant", "cosine"]
    said = sentence(capsys, *command, "--model.dropout", "0.2")
    assert "was run with model.dropout 0.1, not 0.2: choose another --runs" in said
    said = sentence(capsys, *command, "model.residual:pre-norm")
    assert "was run with model.residual PostNorm, not PreNorm" in said
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
    assert found["exact_match"] == result["metrics"]["exact_match"]
    assert (found["on"], found["sentences"]) == ("test", 8)
    assert main(["evaluate", str(run), "--split", "valid", "--beam", "2"]) == 0
    assert "exact_match" in capsys.readouterr().out
    assert "unknown split 'nothing'; choose from test, train, valid" in sentence(
        capsys, "evaluate", str(run), "--split", "nothing"
    )


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
    assert "as many lines" in sentence(capsys, *words)


def predicted(monkeypatch, content: bytes, run: Path, *words: str) -> int:
    """The exit code of predict with this standard input."""
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
    assert "there is no file none, nor one under ATTNJAX_DATA=" in said


def test_nothing_is_logged_beside_the_answers(capsys, run, monkeypatch, caplog):
    assert predicted(monkeypatch, b"1\n", run) == 0
    assert main(["evaluate", str(run)]) == 0
    assert not caplog.records
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["evaluate", "RUN", "--split", ""], "unknown split ''; choose from test, train, valid"),
        (["evaluate", "RUN", "--beam", "99999999999999999999"], "from 1 to 10,000; got '9999"),
        (["evaluate", "RUN", "--beam", "0"], "wanted a whole number from 1 to 10,000; got '0'"),
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
        (["run", "~nobody/x.py"], "there is no experiment file ~nobody/x.py"),
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


def test_somebody_elses_program_is_run_when_trusted_only(capsys, damaged, monkeypatch, tmp_path):
    """Another user's key has not signed it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    for command in (["evaluate", str(damaged)], ["report", str(damaged.parents[1])]):
        assert "add --trust to run it" in sentence(capsys, *command)
        assert main([*command, "--trust"]) == 0
    assert predicted(monkeypatch, b"1\n", damaged, "--trust") == 0


def test_a_byte_order_mark_before_an_experiment_file(capsys, tmp_path):
    path = tmp_path / "marked.py"
    path.write_text("\ufeff" + Path(TINY).read_text(), encoding="utf-8")
    assert main(["show", str(path)]) == 0
    assert "variants: scaled, cosine" in capsys.readouterr().out


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
    assert "line 2 of standard input has the byte 0xff" in sentence(capsys, "predict", str(run))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(capsys, monkeypatch, tmp_path, number):
    def full(*_: object) -> None:
        raise OSError(number, "No space left on device", "x/config.json")

    monkeypatch.setattr("attnjax.runs.sealed.write_json", full)
    said = sentence(capsys, "run", TINY, "--runs", str(tmp_path))
    assert "the disk of x/config.json is full" in said


@pytest.mark.parametrize("error", [RuntimeError("a bug"), OSError(errno.EIO, "a broken disk")])
def test_a_bug_shows_its_traceback(monkeypatch, error):
    def wrong() -> None:
        raise error

    monkeypatch.setattr("attnjax.cli.commands.list", wrong)
    with pytest.raises(type(error), match="a b"):
        main(["list"])


def test_ctrl_c_before_anything_is_trained(capsys, monkeypatch):
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("attnjax.cli.commands.find", press)
    assert "interrupted" in sentence(capsys, "run", TINY, code=130)


def test_show_prints_every_path_and_the_costs(capsys):
    assert main(["show", TINY, "--variant", "cosine", "--model.width", "32"]) == 0
    shown = capsys.readouterr().out
    for expected in ("score: Cosine", "sharpness = 5.0", "width = 32", "steps = 6"):
        assert expected in shown
    for expected in (
        "model.decoder_layer.cross_attention.head: dense",
        "parameters: 15,072\n",
        "FLOPs",
    ):
        assert expected in shown


def test_list_is_quick_and_starts_no_jax():
    program = (
        "import sys; from attnjax.cli.main import main; main(['list']); "
        "sys.exit('jax' in sys.modules or 'numpy' in sys.modules)"
    )
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    for listing in catalog():
        assert listing.paper, "the first line: question, two spaces, paper"
        line = next(line for line in done.stdout.splitlines() if line.startswith(listing.name))
        assert listing.question in line, "a program that reads it gets whole lines"
    after = os.times()
    spent = after.children_user + after.children_system
    assert spent - before.children_user - before.children_system < 1


def test_nobody_reads_to_the_end():
    """`attnjax list | head -c 0`: no traceback."""
    program = f"{sys.executable} -m attnjax list | head -c 0"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_one_seed_has_no_spread(run):
    summary = json.loads((run.parents[1] / "summary.json").read_text())
    (row,) = summary["rows"]
    assert row["n"] == 1
    assert set(row["standard_deviation"].values()) == {None}
