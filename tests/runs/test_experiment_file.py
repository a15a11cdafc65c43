"""What may change in an experiment file after its first run, and whose file is run unasked."""

import json
import re
import shutil
from hashlib import sha256
from inspect import unwrap
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from attnjax.cli.main import main
from attnjax.errors import UserError
from attnjax.runs.json_files import read_sealed, write_sealed
from attnjax.runs.manifest import experiment_file, read
from attnjax.runs.provenance import changed_definitions
from attnjax.runs.trust import sign
from attnjax.trained.export import import_export
from attnjax.trained.trained_run import open_trained
from attnjax.training.checkpoints.checkpoint import Checkpoints, average

TEXT = (Path(__file__).parents[1] / "tiny.py").read_text()
SHARPNESS = "    sharpness: float = 5.0\n"


@pytest.fixture
def tiny(tmp_path) -> Path:
    """The file of seconds, where its text may change."""
    path = tmp_path / "mine" / "tiny.py"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


def run(path: Path, *words: str, variant: str = "cosine", seeds: int = 1) -> int:
    runs = path.parents[1] / "runs"
    chosen = ["--variant", variant, "--seeds", str(seeds)]
    return main(["run", str(path), "--runs", str(runs), *chosen, *words])


def folder(path: Path) -> Path:
    return path.parents[1] / "runs" / "tiny" / "cosine" / "seed-0"


def test_only_what_a_part_is_made_of_counts():
    text = '''
"""A note."""
import math
FACTOR, unused = 2.0, 1

def scale(x):
    """Double."""
    return FACTOR * x

class Base:
    def call(self, x):
        return scale(x)

class Mine(Base):
    """My part."""
    width: int = 3

variants = {"mine": Mine()}
'''
    same = (
        text.replace("A note", "Another"),
        text.replace("unused = 2.0, 1", "unused = 2.0, 1  # of no use"),
        text.replace('"""My part."""', '"""Our part."""'),
        text.replace("return FACTOR * x", "return (FACTOR\n        * x)"),
        text + "\nclass More:\n    pass\n",
        text.replace('{"mine": Mine()}', '{"mine": Mine(), "again": Mine()}'),
    )
    for other in same:
        assert other != text
        assert changed_definitions(text, other, {"Mine"}) == []
    different = {
        "Mine": text.replace("width: int = 3", "width: int = 4"),
        "Base": text.replace("return scale(x)", "return scale(-x)"),
        "scale": text.replace("FACTOR * x", "FACTOR + x"),
        "FACTOR": text.replace("FACTOR, unused = 2.0", "FACTOR, unused = 3.0"),
    }
    for name, other in different.items():
        assert name in changed_definitions(text, other, {"Mine"})
    assert changed_definitions(text, different["Mine"], {"Base"}) == []


def test_a_comment_a_variant_and_a_claim_refuse_nothing(tiny, capsys):
    assert run(tiny) == 0
    more = TEXT.replace("ablation = Ablation(", "# more\nablation = Ablation(").replace(
        '"cosine": vary', '"again": base,\n        "cosine": vary'
    )
    tiny.write_text(more.replace("It learns.", "It learns well."))
    assert run(tiny) == 0
    assert "1 of 1 runs are there already" in capsys.readouterr().err
    # the report takes claims from the file as it is now
    tiny.write_text(more.replace("Cosines learn.", "Cosines dream."))
    assert main(["report", str(tiny.parents[1] / "runs")]) == 0
    summary = json.loads((folder(tiny).parents[1] / "summary.json").read_text())
    assert "Cosines dream." in [claim["text"] for claim in summary["claims"]]
    tiny.write_text(TEXT.replace(SHARPNESS, SHARPNESS + "    bias: float = 0.0\n"))
    capsys.readouterr()
    assert run(tiny) == 2
    assert "experiment.Cosine" not in capsys.readouterr().err


FACTOR = """from attnjax.attention.score import dot

def ten(query, key):
    return 10 * dot(query, key)
"""


@pytest.fixture
def imports(tiny) -> Path:
    """The module that the file's own score is computed by, beside the file."""
    tiny.write_text(
        TEXT.replace("self.sharpness * dot(query, key)", "scaled.ten(query, key)").replace(
            "import jax\n", "import jax\nimport scaled\n", 1
        )
    )
    path = tiny.with_name("scaled.py")
    path.write_text(FACTOR)
    return path


def test_a_run_of_other_imported_code_is_not_gone_on_with(tiny, imports, capsys):
    assert run(tiny) == 0
    imports.write_text(
        FACTOR.replace("10 * dot(query, key)", "(10  *  dot(query, key))  # ten times")
    )
    assert run(tiny) == 0
    assert "1 of 1 runs are there already" in capsys.readouterr().err
    imports.write_text(FACTOR.replace("10 *", "20 *"))
    assert run(tiny) == 2
    assert (
        f"{folder(tiny)} is a run of other code: scaled.py was changed after the run was started; "
        "choose another --runs, or delete the run"
    ) in capsys.readouterr().err
    # the report goes on, and says it
    assert main(["report", str(tiny.parents[1] / "runs")]) == 0
    said = capsys.readouterr().out
    assert re.search(r"imported\.scaled\.py: sources \w{10} \(the file: sources \w{10}\)", said)
    assert re.search(r"Cosines learn\. +imported\.scaled\.py of cosine was changed", said)
    # a variant of attnjax's parts alone does not depend on it
    imports.write_text(FACTOR)
    assert run(tiny, variant="scaled") == 0
    imports.write_text(FACTOR.replace("10 *", "20 *"))
    shutil.rmtree(folder(tiny))
    capsys.readouterr()
    assert run(tiny, variant="scaled") == 0
    assert "1 of 1 runs are there already" in capsys.readouterr().err
    assert not (folder(tiny).parents[1] / "scaled/seed-0/modules").exists()


def score_class(run_folder: Path) -> type:
    """The class of a trained run's own score."""
    model: Any = open_trained(run_folder).experiment.model
    return type(model.encoder_layer.self_attention.head.score)


def factor(run_folder: Path) -> float:
    """What the module of a trained run's own score multiplies by."""
    call: Any = unwrap(score_class(run_folder).__call__)
    return float(call.__globals__["scaled"].ten(np.ones((1, 1)), np.ones((1, 1))).item())


def test_a_trained_run_is_used_with_the_modules_it_was_trained_with(
    tiny, imports, tmp_path, capsys, monkeypatch
):
    assert run(tiny, seeds=2) == 0
    ours, other = folder(tiny), folder(tiny).with_name("seed-1")
    assert (ours / "modules/scaled.py").read_text() == FACTOR
    assert factor(ours) == 10
    assert main(["checkpoints", str(ours), "--export", str(tmp_path / "exported")]) == 0
    for harm in (lambda: imports.write_text(FACTOR.replace("10 *", "20 *")), imports.unlink):
        harm()
        assert factor(ours) == 10
        assert score_class(ours) is score_class(other), "an ensemble has one class"
        assert main(["evaluate", str(ours)]) == 0
    imports.write_text(FACTOR.replace("10 *", "20 *"))
    # nothing but what config.json names is imported, and somebody else's copies only with trust
    (ours / "modules/jax.py").write_text("raise RuntimeError")
    assert factor(ours) == 10
    (ours / "modules/scaled.py").write_text(FACTOR.replace("10 *", "30 *"))
    with pytest.raises(
        UserError, match=r"modules/scaled\.py was changed after the run was started"
    ):
        open_trained(ours)
    config = read_sealed(ours / "config.json")
    forged = {"scaled.py": sha256((ours / "modules/scaled.py").read_bytes()).hexdigest()}
    write_sealed(ours / "config.json", config | {"modules": forged})
    with pytest.raises(UserError, match=r"add --trust"):
        open_trained(ours)
    forged = {"../scaled.py": forged["scaled.py"]}
    write_sealed(ours / "config.json", config | {"modules": forged})
    with pytest.raises(UserError, match=r"'\.\./scaled\.py' is the path of no module"):
        open_trained(ours, trust=True)
    # an export takes them along
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "somebody"))
    imported = import_export(tmp_path / "exported", tmp_path / "theirs")
    shutil.rmtree(tiny.parent)
    assert open_trained(imported, trust=True).finished
    path = tmp_path / "exported/modules/scaled.py"
    path.write_text(FACTOR.replace("10 *", "30 *"))
    with pytest.raises(UserError, match=r"'modules/scaled\.py' is not as it was exported"):
        import_export(tmp_path / "exported", tmp_path / "again")


def test_a_run_without_a_record_of_what_it_imported_is_read(tiny, imports, capsys):
    assert run(tiny) == 0
    path = folder(tiny) / "config.json"
    content = read_sealed(path)
    # of an earlier version, which made no copies: the modules must be as they were
    words = content["text"], content["path"]
    del content["modules"]
    write_sealed(path, content | {"signature": sign(*words)})
    shutil.rmtree(folder(tiny) / "modules")
    open_trained(folder(tiny))
    imports.write_text(FACTOR.replace("10 *", "20 *"))
    with pytest.raises(
        UserError, match=r"scaled\.py was changed after the run was started; choose"
    ):
        open_trained(folder(tiny))
    # of one before that, which recorded no digests
    del content["imported"]
    write_sealed(path, content | {"signature": sign(*words)})
    capsys.readouterr()
    assert run(tiny) == 0
    assert "1 of 1 runs are there already" in capsys.readouterr().err
    open_trained(folder(tiny))


def test_a_part_of_another_text_is_refused_and_named(tiny, capsys):
    assert run(tiny) == 0
    tiny.write_text(TEXT.replace("self.sharpness * dot", "2 * self.sharpness * dot"))
    capsys.readouterr()
    assert run(tiny) == 2
    said = capsys.readouterr().err
    assert f"{folder(tiny)} was run with another text of Cosine in tiny.py" in said


@pytest.mark.long
def test_a_finished_run_is_lengthened_to_the_bits_of_the_longer_one(tiny, tmp_path, capsys):
    assert run(tiny) == 0
    first = read_sealed(folder(tiny) / "result.json")
    assert run(tiny, "--training.steps", "9") == 0
    grown = read_sealed(folder(tiny) / "result.json")
    assert (first["step"], grown["step"]) == (6, 9)
    assert read_sealed(folder(tiny) / "result-6.json") == first
    params = average(folder(tiny), 1)
    shutil.rmtree(tmp_path / "runs")
    assert run(tiny, "--training.steps", "9") == 0
    whole = read_sealed(folder(tiny) / "result.json")
    assert grown["metrics"] == whole["metrics"]
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, params, average(folder(tiny), 1))))
    # shorter it cannot get, nor may other settings change
    capsys.readouterr()
    for words, expected in (
        (["--training.steps", "8"], "was run with training.steps 9, not 8"),
        (["--training.steps", "12", "--training.average", "2"], "training.average 1, not 2"),
    ):
        assert run(tiny, *words) == 2
        assert expected in capsys.readouterr().err
    # a run that is not among those of the command would be left behind
    assert run(tiny, "--training.steps", "12", variant="scaled") == 2
    assert "was run with training.steps 9, not 12" in capsys.readouterr().err


@pytest.mark.parametrize("when", ["before", pytest.param("while", marks=pytest.mark.long)])
def test_a_lengthened_run_keeps_its_result_until_it_has_a_longer_checkpoint(
    tiny, monkeypatch, capsys, when
):
    assert run(tiny) == 0
    first = read_sealed(folder(tiny) / "result.json")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        if when == "before":
            patched.setattr("attnjax.training.loop.loop.train", fail)
        else:  # the rows of the steps are in the log by then
            patched.setattr(Checkpoints, "save", fail)
        with pytest.raises(RuntimeError, match="a bug"):
            run(tiny, "--training.steps", "9")
    assert read_sealed(folder(tiny) / "result.json") == first
    # the same settings as ever, and no other run
    capsys.readouterr()
    assert run(tiny) == 0
    assert "1 of 1 runs are there already" in capsys.readouterr().err
    assert run(tiny, "--training.steps", "9") == 0
    assert read_sealed(folder(tiny) / "result-6.json") == first
    assert read_sealed(folder(tiny) / "result.json")["step"] == 9


@pytest.mark.long
def test_a_program_of_somebody_else_is_not_run_unasked(tiny, monkeypatch, tmp_path):
    assert run(tiny) == 0
    mine = folder(tiny)
    assert open_trained(mine).finished
    assert experiment_file(mine, trust=False).path == tiny
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "somebody"))
    for opened in (open_trained, experiment_file):
        with pytest.raises(UserError, match=r"experiment\.py is a program .* add --trust"):
            opened(mine, trust=False)
    assert open_trained(mine, trust=True).finished
    # the path that somebody wrote down is not followed, and the copy in the folder is run
    assert experiment_file(mine, trust=True).path == mine / "experiment.py"
    # a forged text or path has not the signature
    monkeypatch.delenv("XDG_DATA_HOME")
    found = read(mine)
    config = read_sealed(mine / "config.json")
    write_sealed(mine / "config.json", config | {"path": str(mine / "experiment.py")})
    with pytest.raises(UserError, match="add --trust"):
        experiment_file(mine, trust=False)
    assert found.path == str(tiny.resolve())


@pytest.mark.long
def test_a_run_of_parts_of_attnjax_alone_needs_no_trust(tiny, monkeypatch, tmp_path):
    assert run(tiny, variant="scaled") == 0
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "somebody"))
    assert open_trained(tmp_path / "runs/tiny/scaled/seed-0").finished
