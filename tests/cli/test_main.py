import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnjax.errors import UserError
from attnjax.lab.cli.main import ATTNJAX, main, parser
from attnjax.lab.runs.catalog import catalog, find
from attnjax.lab.runs.trust import shipped_folder
from tests.cli.saying import TINY, sentence

HEADS = "model.encoder_layer.self_attention.heads"


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
        ("run experiments/nothing.py", "the experiment file experiments/nothing.py does not exist"),
        ("run /dev/null", "the experiment file /dev/null is no regular file"),
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
        (f"run {TINY} --jobs 0", "jobs: wanted a whole number from 1 to 10,000; got '0', or auto"),
        (f"run {TINY} --jobs all", "from 1 to 10,000; got 'all', or auto"),
        (f"run {TINY} --jobs 9999", "--jobs takes at most one worker for each of the"),
        (f"run {TINY} --jobs 9999 --dry-run", "that this command may use; got 9999"),
        ("run scaling_and_head --jobs 1", "did you mean scaling_and_heads?"),
        (f"run {TINY} --runs gs://bucket/runs", "wanted a folder that this machine sees"),
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
        ("report nowhere", "the folder nowhere does not exist"),
        ("report tests", "tests holds no finished runs"),
        ("evaluate nowhere --source a", "--source and --reference go together"),
        ("evaluate nowhere --answers no/a", "there is no folder no for the file a"),
        ("evaluate nowhere --answers a --protocols", "--protocols keeps no answers"),
        ("evaluate nowhere --model.width 3", "and of heads_out alone; got --model.width 3"),
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
        ("raise BaseException(3)", "line 1, failed: BaseException: 3"),
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


def test_a_byte_order_mark_before_an_experiment_file(capsys, tmp_path):
    path = tmp_path / "marked.py"
    path.write_text("\ufeff" + Path(TINY).read_text(), encoding="utf-8")
    assert main(["show", str(path)]) == 0
    assert "variants: scaled, cosine" in capsys.readouterr().out


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(capsys, monkeypatch, tmp_path, number):
    def full(*_: object) -> None:
        raise OSError(number, "No space left on device", "x/config.json")

    monkeypatch.setattr("attnjax.lab.runs.json_files.write_json", full)
    said = sentence(capsys, "run", TINY, "--runs", str(tmp_path))
    assert f"the disk of {tmp_path / 'tiny/scaled/seed-0'} is full" in said


@pytest.mark.parametrize("error", [RuntimeError("a bug"), OSError(errno.EIO, "a broken disk")])
def test_a_bug_shows_its_traceback(monkeypatch, error):
    def wrong() -> None:
        raise error

    monkeypatch.setattr("attnjax.lab.cli.commands.experiments.catalog", wrong)
    with pytest.raises(type(error), match="a b"):
        main(["list"])


def test_ctrl_c_before_anything_is_trained(capsys, monkeypatch):
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("attnjax.lab.cli.chosen.find", press)
    assert "interrupted" in sentence(capsys, "run", TINY, code=130)


def test_show_prints_every_path_and_the_costs(capsys):
    assert main(["show", TINY, "--variant", "cosine", "--model.width", "32"]) == 0
    shown = capsys.readouterr().out
    for expected in ("score: Cosine", "sharpness = 5.0", "width = 32", "steps = 6"):
        assert expected in shown
    for expected in (
        "model.decoder_layer.cross_attention.head: auto, computes its weights",
        "parameters: 15,072\n",
        "FLOPs",
    ):
        assert expected in shown


def test_list_is_quick_and_starts_no_jax():
    program = (
        "import sys; from attnjax.lab.cli.main import main; main(['list']); "
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
        assert line.rstrip().endswith(listing.rerun)
    assert {"under 1 minute", "not run"} <= {listing.rerun for listing in catalog()}
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


def test_parts_lists_what_can_be_chosen(capsys):
    score = "model.encoder_layer.self_attention.head.score"
    assert main(["parts", score]) == 0
    printed = capsys.readouterr().out
    lines = {line.split()[0]: line for line in printed.splitlines() if line[0] != " "}
    assert {"dot", "scaled-dot", "additive"} <= lines.keys()
    assert "score" not in lines, "it is abstract"
    assert lines["scaled-dot"].endswith("now")
    assert len(lines["additive"].split()) > 2, "the first line of its docstring"
    assert "logits[t, s] = query[t] . key[s] / sqrt(K)" in printed
    assert main(["parts", score.replace("score", "align")]) == 0
    printed = capsys.readouterr().out
    assert "temperature = 1.0" in printed, "a field and its default"
    assert main(["parts", "measures"]) == 0
    assert "examples = 64" in capsys.readouterr().out
    assert main(["parts", score, TINY]) == 0
    assert "A newcomer's own: logits[t, s] = sharpness cos" in capsys.readouterr().out
    assert main(["parts", "model.width"]) == 0
    assert capsys.readouterr().out == "model.width is a value: int above 0; now int 512\n"
    assert "did you mean model.width?" in sentence(capsys, "parts", "model.widht")


def test_no_file_of_the_current_folder_hides_a_shipped_experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("bert", "bert.py", "other"):
        Path(name).write_text("open('executed', 'w')")
    assert find("bert") == shipped_folder() / "bert.py"
    assert find("bert.py") == Path("bert.py")
    assert find("./other") == Path("other")
    Path("mine.ipynb").write_text("{}")
    with pytest.raises(UserError, match="mine.ipynb is a notebook, .* nbconvert"):
        find("./mine.ipynb")
    with pytest.raises(UserError, match="unknown experiment 'other'"):
        find("other")


def test_help_has_every_command_once_in_a_group(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    assert printed.index("run experiments:") < printed.index("  run ") < printed.index("options:")
    assert all(printed.count(f"\n  {word} ") == 1 for word in ATTNJAX.commands)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_experiments(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "attnjax", "--completion", "bash"], capture_output=True, text=True
    )
    script = tmp_path / "completion"
    script.write_text(done.stdout)
    words = 'COMP_WORDS=({}); COMP_CWORD={}; COMPREPLY=(); _shtab_attnjax; echo "${{COMPREPLY[@]}}"'
    lines = [words.format("attnjax comp", 1), words.format("attnjax run sut", 2)]
    program = "\n".join([f"source {script}", *lines])
    printed = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert printed.stdout.splitlines() == ["compare", "sutskever2014"], printed.stderr


def test_an_override_that_a_variant_refuses_names_the_variant(capsys):
    words = ["run", TINY, "--dry-run", "--model.encoder_layer.self_attention.head.score.sharpness"]
    said = sentence(capsys, *words, "3")
    assert ", in scaled; leave these out by naming others with --variant" in said
    assert "in scaled" not in sentence(capsys, *words, "3", "--variant", "scaled")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_can_read_the_program_and_lists_no_words_of_files(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--completion", "zsh"])
    script = tmp_path / "completion"
    script.write_text(printed := capsys.readouterr().out)
    done = subprocess.run(["zsh", "-f", "-n", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "($(" not in printed


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_names_of_files_and_executes_none(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--completion", "bash"])
    script = tmp_path / "completion"
    script.write_text(capsys.readouterr().out)
    folder = tmp_path / "strange"
    folder.mkdir()
    hostile = ["$(touch executed).py", "`touch executed`.py", "a;touch executed.py", "a b.py"]
    for name in (*hostile, "<(touch executed)", "x[$(touch executed)].py"):
        (folder / name).touch()
    (folder / "$(touch executed)").mkdir()
    words = [command.split() for command in ATTNJAX.commands]
    options = {
        (*command, option)
        for command in words
        for option in parser()[1][" ".join(command)]._option_string_actions
    }
    program = [f"source {script}"]
    for before in (*words, *options, ("run", "a b.py"), ("compare", "$(touch executed).py")):
        for typed in ("", "$(touch executed)"):
            quoted = shlex.join(["attnjax", *before, typed])
            program.append(f"COMP_WORDS=({quoted}); COMP_CWORD={len(before) + 1}; _shtab_attnjax")
    program += [
        "COMP_WORDS=(attnjax run ''); COMP_CWORD=2; _shtab_attnjax",
        "printf '%s\\n' \"${COMPREPLY[@]}\"",
    ]
    printed = subprocess.run(
        ["bash", "-c", "\n".join(program)], capture_output=True, text=True, cwd=folder
    )
    assert {*hostile, "luong2015"} <= {*printed.stdout.splitlines()}, printed.stderr
    assert not list(tmp_path.rglob("executed*"))
    assert (folder / "a b.py").exists()


def test_the_help_that_a_mistake_names_can_be_asked_for(capsys):
    said = sentence(capsys, "run", TINY, "--seeds", "0")
    (words,) = re.findall(r"see attnjax (.*--help)", said)
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 0


def test_help_and_titles_stay_without_docstrings():
    """`python -OO` drops them."""
    read = "from attnjax.lab.cli.main import main; main(['parts', 'model']); main(['--help'])"
    plain, bare = (
        subprocess.run([sys.executable, *flags, "-c", read], capture_output=True).stdout
        for flags in ((), ("-OO",))
    )
    assert len(plain.split()) > 300
    assert bare == plain


def test_a_folder_whose_name_is_not_utf_8_is_a_sentence(capsys, tmp_path, monkeypatch):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(TINY, "tiny.py")
    said = sentence(capsys, "run", "tiny.py", "--variant", "cosine", "--seeds", "1")
    assert "the name of a file or folder must be UTF-8; got" in said
