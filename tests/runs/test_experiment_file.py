"""What may change in an experiment file after its first run, and whose file is run unasked."""

import json
import re
import shutil
from dataclasses import replace
from hashlib import sha256
from inspect import unwrap
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from attnjax.errors import UserError
from attnjax.lab.checkpoints.checkpoint import Checkpoints, average
from attnjax.lab.cli.main import main
from attnjax.lab.runs.json_files import read_sealed, write_sealed
from attnjax.lab.runs.manifest import Manifest, experiment_file, load_copy
from attnjax.lab.runs.provenance import changed_definitions
from attnjax.lab.runs.trust import file_of_text, shipped_folder
from attnjax.lab.trained.export import import_export
from attnjax.lab.trained.trained_run import open_trained

TEXT = (Path(__file__).parents[1] / "tiny.py").read_text()
SHARPNESS = "    sharpness: float = 5.0\n"
SCALED = "self.sharpness * dot(query, key)"


@pytest.fixture
def tiny(tmp_path) -> Path:
    """Return a copy of the file of seconds, to be changed."""
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
    assert run(tiny) == 0
    summary = json.loads((folder(tiny).parents[1] / "summary.json").read_text())
    assert "Cosines dream." in [claim["text"] for claim in summary["claims"]]
    tiny.write_text(TEXT.replace(SHARPNESS, SHARPNESS + "    bias: float = 0.0\n"))
    capsys.readouterr()
    assert run(tiny) == 2
    assert "experiment.Cosine" not in capsys.readouterr().err


FACTOR = """from attnjax.attention.score.base import dot

def ten(query, key):
    return 10 * dot(query, key)
"""


@pytest.fixture
def imports(tiny) -> Path:
    """Return the module that the file's own score is computed by, beside the file."""
    tiny.write_text(
        TEXT.replace(SCALED, "scaled.ten(query, key)").replace(
            "import jax\n", "import jax\nimport scaled\n", 1
        )
    )
    path = tiny.with_name("scaled.py")
    path.write_text(FACTOR)
    return path


READS = (
    "from pathlib import Path\n\nTEN = float(Path(__file__).with_name('table.txt').read_text())\n"
)


@pytest.mark.parametrize("by_module", [True, False])
def test_a_run_of_another_table_is_not_gone_on_with(tiny, imports, capsys, by_module):
    """The runs of the older table were taken for those of the newer one."""
    (table := tiny.with_name("table.txt")).write_text("10")
    imports.write_text((READS if by_module else "TEN = 10\n") + FACTOR.replace("10 *", "TEN *"))
    if not by_module:
        first, rest = TEXT.replace(SCALED, "TEN * dot(query, key)").split("import jax\n", 1)
        tiny.write_text(f"{first}{READS}import jax\n{rest}")
    assert run(tiny) == run(tiny) == 0
    table.write_text("20")
    assert run(tiny) == 2
    said = f"{folder(tiny)} is a run of other code: table.txt was changed after the run was started"
    assert said in capsys.readouterr().err
    # there are copies of modules, none of a table
    kind = "data, of which it has no copy" if by_module else "code"
    for trust in (False, True):
        with pytest.raises(UserError, match=rf"run of other {kind}: table\.txt was changed"):
            open_trained(folder(tiny), trust=trust)
    assert main(["report", str(tiny.parents[1] / "runs")]) == 0
    assert "imported.table.txt: sources " in capsys.readouterr().out


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
    """Return the class of a trained run's own score."""
    model: Any = open_trained(run_folder, trust=True).experiment.model
    return type(model.encoder_layer.self_attention.head.score)


def factor(run_folder: Path) -> float:
    """Return what the module of a trained run's own score multiplies by."""
    call: Any = unwrap(score_class(run_folder).__call__)
    return float(call.__globals__["scaled"].ten(np.ones((1, 1)), np.ones((1, 1))).item())


def test_a_trained_run_is_used_with_the_modules_it_was_trained_with(tiny, imports, tmp_path):
    assert run(tiny, seeds=2) == 0
    ours, other = folder(tiny), folder(tiny).with_name("seed-1")
    assert (ours / "modules/scaled.py").read_text() == FACTOR
    assert factor(ours) == 10
    assert main(["checkpoints", str(ours), "--export", str(tmp_path / "exported")]) == 0
    for harm in (lambda: imports.write_text(FACTOR.replace("10 *", "20 *")), imports.unlink):
        harm()
        with pytest.raises(UserError, match=r"scaled\.py was changed .*; add --trust"):
            open_trained(ours)
        assert factor(ours) == 10
        assert score_class(ours) is score_class(other), "an ensemble has one class"
        assert main(["evaluate", str(ours), "--trust"]) == 0
    # a report of the module that is gone uses the copy, too
    assert {*experiment_file(ours, trust=True).imported} == {"scaled.py"}
    with pytest.raises(UserError, match=r"scaled\.py was changed or removed .*; add --trust"):
        experiment_file(ours, trust=False)
    # nothing but what config.json names is imported
    (ours / "modules/jax.py").write_text("raise RuntimeError")
    assert factor(ours) == 10
    (ours / "modules/scaled.py").write_text(FACTOR.replace("10 *", "30 *"))
    with pytest.raises(
        UserError, match=r"modules/scaled\.py was changed after the run was started"
    ):
        open_trained(ours, trust=True)
    config = read_sealed(ours / "config.json")
    digest = sha256((ours / "modules/scaled.py").read_bytes()).hexdigest()
    write_sealed(ours / "config.json", config | {"modules": {"../scaled.py": digest}})
    with pytest.raises(UserError, match=r"'\.\./scaled\.py' is the path of no module"):
        open_trained(ours, trust=True)
    # an export takes them along
    imported = import_export(tmp_path / "exported", tmp_path / "theirs")
    shutil.rmtree(tiny.parent)
    assert open_trained(imported, trust=True).finished
    path = tmp_path / "exported/modules/scaled.py"
    path.write_text(FACTOR.replace("10 *", "30 *"))
    with pytest.raises(UserError, match=r"'modules/scaled\.py' is not as it was exported"):
        import_export(tmp_path / "exported", tmp_path / "again")


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
            patched.setattr("attnjax.lab.loop.loop.train", fail)
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


def test_the_copy_of_a_file_of_mine_is_run_unasked(tiny, tmp_path):
    assert run(tiny) == 0
    mine = folder(tiny)
    assert open_trained(mine).finished
    assert experiment_file(mine, trust=False).path == tiny
    # with more claims the file is another: `attnjax run` reports with it, nothing else runs it
    tiny.write_text(TEXT + "\n# more\n")
    for opened in (open_trained, experiment_file):
        with pytest.raises(UserError, match=r"experiment\.py is a program, .* add --trust"):
            opened(mine, trust=False)
    assert open_trained(mine, trust=True).finished
    # the path that somebody wrote down is not followed, and the copy in the folder is run
    assert experiment_file(mine, trust=True).path == mine / "experiment.py"


@pytest.fixture
def handed_over(tmp_path) -> Path:
    """Return the folder of a run that somebody has handed over."""
    run_folder = tmp_path / "theirs/runs/evil/cosine/seed-0"
    run_folder.mkdir(parents=True)
    return run_folder


EVIL = "raise SystemExit('executed')\n"
DIGEST = sha256(EVIL.encode()).hexdigest()


def test_only_a_whole_plain_file_of_the_same_text_counts(handed_over, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(EVIL)

    def found(path: object, name: str = "evil") -> Path | None:
        return file_of_text(handed_over, DIGEST, name=name, path=str(path))

    assert found(mine) == mine
    # a byte order mark and the ends of lines of another system are no part of a text
    mine.write_bytes(b"\xef\xbb\xbf" + EVIL.replace("\n", "\r\n").encode())
    assert found(mine) == mine
    for text in (EVIL + "#", "", EVIL.upper()):
        mine.write_text(text)
        assert found(mine) is None
    mine.write_bytes(b"\xff\xfe")
    assert found(mine) is None
    mine.write_text(EVIL)
    # a link to a file, and to a folder above it
    (tmp_path / "link.py").symlink_to(mine)
    (tmp_path / "above").symlink_to(tmp_path)
    assert found(tmp_path / "link.py") is None
    assert found(tmp_path / "above" / "mine.py") is None
    assert found(tmp_path / "theirs" / ".." / "mine.py") is None
    # files that came with the run
    for folder in (handed_over, *handed_over.parents[:2]):
        (folder / "evil.py").write_text(EVIL)
        assert found(folder / "evil.py") is None
    # no paths
    for path in ("", ".", "mine.py", tmp_path, "/nowhere/mine.py", "/dev/zero", "a\0b", "/" * 5000):
        assert found(path) is None
    for name in ("../mine", "", "reruns.json", "luong2015"):
        assert found("", name) is None


def test_a_shipped_text_is_run_and_no_module_that_comes_with_it(handed_over):
    shipped = shipped_folder() / "nadaraya_watson.py"
    digest = sha256(shipped.read_text().encode()).hexdigest()
    asked = {"name": "nadaraya_watson", "path": "/home/somebody/nadaraya_watson.py"}
    assert file_of_text(handed_over, digest, **asked) == shipped
    assert file_of_text(handed_over, DIGEST, **asked) is None
    modules = {"evil.py": sha256(EVIL.encode()).hexdigest()}
    (handed_over / "modules").mkdir()
    (handed_over / "modules/evil.py").write_text(EVIL)
    (handed_over / "experiment.py").write_bytes(shipped.read_bytes())
    manifest = Manifest(
        experiment="nadaraya_watson",
        variant="v",
        seed=0,
        settings={},
        text=digest,
        path="",
        imported=modules,
        modules=modules,
    )
    with pytest.raises(UserError, match=r"evil\.py was changed .*; add --trust"):
        load_copy(handed_over, manifest, trust=False)
    endless = replace(manifest, imported={"/dev/zero": DIGEST}, modules={})
    assert load_copy(handed_over, endless, trust=False).imported == {}


@pytest.mark.long
def test_a_run_of_parts_of_attnjax_alone_needs_no_trust(tiny, tmp_path):
    assert run(tiny, variant="scaled") == 0
    tiny.unlink()
    assert open_trained(tmp_path / "runs/tiny/scaled/seed-0").finished
