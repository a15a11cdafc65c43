"""An experiment file imports modules of its own folder, and each file the ones beside it."""

import copy
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

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


@pytest.fixture(autouse=True)
def left_as_it_was(monkeypatch):
    """No test leaves a module or a path to the others."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    names = {*sys.modules}
    yield
    for name in {*sys.modules} - names:
        if name.partition(".")[0] in ("mine", "parts", "late", "experiment_late"):
            del sys.modules[name]


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


NESTED = "import attnjax, mine\nattnjax.load('{other}')\n" + FILE


def test_a_file_that_loads_another_one_keeps_its_own_modules(tmp_path):
    first, second = written(tmp_path / "a", 8), written(tmp_path / "b", 24)
    outer = tmp_path / "c" / "file.py"
    written(outer.parent, 40).write_text(NESTED.format(other=first))
    assert [width(one) for one in (outer, second, outer)] == [80, 48, 80]
    assert {*load(outer).imported} == {*load(second).imported} == {"mine.py", "parts/deeper.py"}


def test_what_a_notebook_has_imported_is_not_the_files(tmp_path):
    path = written(tmp_path / "a", 8)
    sys.path.insert(0, str(path.parent))
    of_the_notebook = import_module("mine")
    path.with_name("mine.py").write_text("WIDTH = 100\n")
    assert width(path) == 200
    assert {*load(path).imported} == {"mine.py", "parts/deeper.py"}
    assert sys.modules["mine"] is of_the_notebook


LATE = """
from attnjax.attention import Align
from attnjax.data.generated.sequences import Copy
from attnjax.experiment import Experiment
from attnjax.models.transformer import Transformer
from parts.deeper import late


class Mine(Align):
    def __call__(self, *given):
        import experiment_late
        return experiment_late.NUMBER, late(), __import__("mine").WIDTH


experiment = Experiment(task=Copy(), model=Transformer(width=8))
"""


def test_modules_that_are_imported_when_they_are_called(tmp_path):
    called = []
    for number, folder in enumerate((tmp_path / "a", tmp_path / "b")):
        path = written(folder, 8 + number)
        path.write_text(LATE)
        (folder / "parts/deeper.py").write_text(
            "def late():\n    from .lower import NUMBER\n    return NUMBER\n"
        )
        (folder / "parts/lower.py").write_text(f"NUMBER = {number}\n")
        # of this name are the modules of experiment files themselves
        (folder / "experiment_late.py").write_text(f"NUMBER = {number}\n")
        loaded = load(path)
        assert {*loaded.imported} == {
            "mine.py",
            "experiment_late.py",
            "parts/deeper.py",
            "parts/lower.py",
        }
        called.append(loaded.own["Mine"]())
    assert [part() for part in called] == [(0, 0, 8), (1, 1, 9)]
    (tmp_path / "b/experiment_late.py").write_text("NUMBER = 7\n")
    assert load(tmp_path / "b/file.py").own["Mine"]()()[0] == 7


TABLE = (
    "from pathlib import Path\n"
    "TABLE = Path(__file__).with_name('table.txt').read_text()\n"
    + FILE.replace("width=WIDTH * HEADS", "width=int(TABLE)")
)


def test_equal_texts_of_two_folders_read_what_lies_beside_each(tmp_path):
    first, second = (written(tmp_path / name, 8) for name in "ab")
    for path, number in ((first, 8), (second, 24)):
        path.write_text(TABLE)
        path.with_name("table.txt").write_text(str(number))
    assert [width(one) for one in (first, second, first)] == [8, 24, 8]
    before = load(second)
    assert load(second).ablation.base is before.ablation.base
    second.with_name("table.txt").write_text("1000")
    assert width(second) == 1000


PARTS = """
from attnjax.attention import Align
from attnjax.data.generated.sequences import Copy
from attnjax.experiment import Experiment
from attnjax.models.transformer import Transformer
from mine import Theirs


class Mine(Align):
    factor: int = 1
    inner: Align = Theirs()

    def __call__(self, logits, mask, context):
        return logits


experiment = Experiment(task=Copy(), model=Transformer(width=8))
"""


def test_parts_of_ones_own_go_to_another_process(tmp_path):
    path = written(tmp_path, 8)
    path.write_text(PARTS)
    path.with_name("mine.py").write_text(
        "from attnjax.attention import Align\n\n\nclass Theirs(Align):\n    size: int = 2\n\n"
        "    def __call__(self, *given):\n        return given[0]\n"
    )
    own: Any = load(path).own
    part = own["Mine"](factor=3, inner=own["Theirs"](size=5))
    for again in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part)):
        assert again == part
        assert type(again.inner) is own["Theirs"]
    (tmp_path / "part").write_bytes(pickle.dumps(part))
    program = f"import pickle; print(pickle.load(open({str(tmp_path / 'part')!r}, 'rb')))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "factor = 3" in done.stdout
    assert "size = 5" in done.stdout
