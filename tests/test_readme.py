"""What the README prints can be typed."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnjax.cli.catalog import find
from attnjax.cli.main import main, parser
from attnjax.config.walk import differences
from attnjax.data.special_tokens import END
from attnjax.experiment import Experiment, load
from attnjax.experiment.load import load_text

README = Path(__file__).parents[1] / "README.md"
TINY = Path(__file__).parent / "tiny.py"


def snippets() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def commands() -> list[str]:
    """The command lines, continued lines joined, without what is said of them."""
    text = README.read_text().replace("\\\n", " ")
    found = re.findall(r"^    (attnjax .*?)(?:  +#.*)?$", text, re.MULTILINE)
    return [" ".join(line.split()) for line in found]


def forms() -> list[str]:
    return [line for line in commands() if re.search(r"[\[<]|\b[A-Z]{2,}\b(?!/)", line)]


def test_as_a_library():
    found: dict[str, Any] = {}
    exec(snippets()[0], found)
    assert found["context"].shape == found["x"].shape
    (weights,) = found["seen"]["attention"]["head"]["weights"]
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)


def test_the_variant_of_your_own_is_one():
    _, text = snippets()
    ablation = load_text(text, name="cosine", path=Path("cosine.py")).ablation
    assert ablation.base == load(find("scaling_and_heads")).ablation.base
    found = differences(ablation.base, ablation.variants["cosine"])
    assert len(found) == 3
    assert all(path.endswith(".score") for path in found)


def test_the_forms_of_the_commands_are_those_of_the_command_line():
    """Each command has its line, and each option on it is the command's."""
    _, choices = parser()
    lines = ["attnjax list", *forms()[: len(choices) - 1]]
    shown = {line.split()[1]: set(re.findall(r"--[a-z-]+", line)) for line in lines}
    assert shown.keys() == choices.keys()
    for name, options in shown.items():
        known = {option for action in choices[name]._actions for option in action.option_strings}
        assert options <= known


COMMANDS = [line for line in commands() if line not in forms()]
QUICK = (
    "attnjax list",
    "attnjax parts model.encoder_layer.self_attention.head.score",
)


def test_the_commands_are_found():
    assert len(COMMANDS) >= 8
    assert "attnjax run multi30k --variant luong --variant fixed_vector" in COMMANDS
    assert {*QUICK} <= {*COMMANDS}


@pytest.mark.parametrize(
    "line",
    [pytest.param(line, marks=[] if line in QUICK else pytest.mark.long) for line in COMMANDS],
)
def test_a_command_is_as_printed(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Two steps of a training are enough, one seed, and empty answers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Experiment, "answers", lambda self, params, sources: [[END]] * len(sources))
    (tmp_path / "cosine.py").write_text(snippets()[1])
    words = shlex.split(line)[1:]
    if words[0] == "run":
        words += ["--training.steps", "2", "--seeds", "1"]
    code = main(words)
    said = capsys.readouterr().err
    if code == 2 and "ATTNJAX_DATA" in said:
        pytest.skip("needs real corpora: set ATTNJAX_DATA to the folder that holds them")
    assert code == 0, said
