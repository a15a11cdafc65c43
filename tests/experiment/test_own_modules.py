"""An experiment file imports modules of its own folder, and each file the ones beside it."""

import subprocess
import sys
from pathlib import Path

import pytest

from attnjax.errors import UserError
from attnjax.experiment.load import load

FILE = """
from attnjax.data.generated.sequences import Copy
from attnjax.experiment import Experiment
from attnjax.models.transformer import Transformer
from mine import WIDTH
from parts.deeper import HEADS

experiment = Experiment(task=Copy(), model=Transformer(width=WIDTH * HEADS))
"""


def written(folder: Path, width: int) -> Path:
    """An experiment file whose model's width is computed by modules beside it."""
    (folder / "parts").mkdir(parents=True)
    (folder / "mine.py").write_text(f"WIDTH = {width}\n")
    (folder / "parts" / "deeper.py").write_text("HEADS = 2\n")
    path = folder / "file.py"
    path.write_text(FILE)
    return path


def width(path: Path) -> int:
    model = load(path).ablation.base.model
    return model.width  # pyright: ignore


def test_modules_of_one_name_are_each_files_own(tmp_path):
    first, second = written(tmp_path / "a", 8), written(tmp_path / "b", 24)
    path, names = [*sys.path], {*sys.modules}
    assert [width(one) for one in (first, second, first, second)] == [16, 48, 16, 48]
    assert sys.path == path
    assert {"mine", "parts.deeper"} <= {*sys.modules} - names
    other = tmp_path / "c.py"
    other.write_text(FILE)
    with pytest.raises(UserError, match="line 5, failed: ModuleNotFoundError: No module named 'mi"):
        load(other)
    assert not {"mine", "parts.deeper", "parts"} & {*sys.modules}
    assert not [*tmp_path.rglob("*.pyc")]


def test_a_changed_module_is_loaded_again_and_an_unchanged_one_is_not(tmp_path):
    path = written(tmp_path / "a", 8)
    before = load(path)
    assert load(path).ablation.base is before.ablation.base
    mine = path.with_name("mine.py")
    mine.write_text('"""My module."""\nWIDTH = (8)  # of eight\n')
    assert load(path).ablation.base is before.ablation.base, "comments and layout are no change"
    mine.write_text("WIDTH = 9\n")
    assert width(path) == 18
    changed = load(path).imported
    assert changed.keys() == before.imported.keys() == {"mine.py", "parts/deeper.py"}
    assert changed["mine.py"] != before.imported["mine.py"]
    assert changed["parts/deeper.py"] == before.imported["parts/deeper.py"]


def test_libraries_are_not_ones_own(tmp_path):
    path = tmp_path / "file.py"
    path.write_text("import wave, annotated_types\n" + FILE.replace("from mine", "from mine_2"))
    (tmp_path / "mine_2.py").write_text("import sacrebleu\nWIDTH = 4\n")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "deeper.py").write_text("HEADS = 2\n")
    assert {*load(path).imported} == {"mine_2.py", "parts/deeper.py"}


def test_the_command_needs_no_python_path(tmp_path):
    path = written(tmp_path / "a", 8)
    command = [sys.executable, "-m", "attnjax", "run", str(path), "--dry-run", "--training.steps=1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
