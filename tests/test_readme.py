"""What the README and the page of the command line print can be typed."""

import io
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnjax.config.walk import differences
from attnjax.data.special_tokens import END
from attnjax.experiment import Experiment, load
from attnjax.experiment.load import load_text
from attnjax.lab.cli.main import main, parser
from attnjax.lab.runs.catalog import RERUNS, find

ROOT = Path(__file__).parents[1]
README, COMMAND_LINE = ROOT / "README.md", ROOT / "docs" / "command-line.md"


def snippets() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def commands(page: Path) -> list[str]:
    """The command lines, continued lines joined, without their remarks and standard input."""
    text = page.read_text().replace("\\\n", " ")
    lines = re.findall(r"^    (?:echo .* \| )?(attnjax .*?)(?:  +#.*)?$", text, re.MULTILINE)
    return [" ".join(line.split()) for line in lines]


def is_form(line: str) -> bool:
    """Whether something has to be put in for a word of the line."""
    return bool(re.search(r"[\[<]|\b[A-Z]{2,}\b(?!/)", line))


def test_it_is_short_and_the_two_commands_come_first():
    lines = README.read_text().splitlines()
    assert len(lines) <= 200
    beginning = [" ".join(line.split()[:2]) for line in lines[:25] if line.startswith("    make")]
    assert beginning == ["make ablation", "make test"]


def test_as_a_library():
    found: dict[str, Any] = {}
    exec(snippets()[0], found)
    assert found["context"].shape == found["x"].shape
    (weights,) = found["seen"]["attention"]["head"]["weights"]
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)


def test_the_variant_of_your_own_is_one():
    """And the claim that completes its file is one, too."""
    _, variant, claim = snippets()
    ablation = load_text(variant + claim, name="cosine", path=Path("cosine.py")).ablation
    assert [claim.text for claim in ablation.claims] == ["the angle is better"]
    assert ablation.base == load(find("scaling_and_heads")).ablation.base
    found = differences(ablation.base, ablation.variants["cosine"])
    assert len(found) == 3
    assert all(path.endswith(".score") for path in found)


def test_the_forms_of_the_commands_are_those_of_the_command_line():
    """Each command has its line, and each option on it is the command's."""
    _, choices = parser()
    forms = [line for line in commands(COMMAND_LINE) if is_form(line)]
    lines = ["attnjax list", *forms[: len(choices) - 1]]
    names = [re.match(r"attnjax ((?:data )?[a-z]+)", line)[1] for line in lines]
    options = [set(re.findall(r"--[a-z-]+", line)) for line in lines]
    shown = dict(zip(names, options, strict=True))
    assert shown.keys() == choices.keys()
    for name, options in shown.items():
        known = {option for action in choices[name]._actions for option in action.option_strings}
        assert options <= known


COMMANDS = sorted(
    {line for page in (README, COMMAND_LINE) for line in commands(page) if not is_form(line)}
)
QUICK = (
    "attnjax list",
    "attnjax parts model.encoder_layer.self_attention.head.score",
    "attnjax parts model.decoder.attention.score luong2015",
)


def test_the_commands_are_found():
    assert len(COMMANDS) >= 14
    assert "attnjax run multi30k --variant luong --variant fixed_vector" in COMMANDS
    assert "attnjax predict runs/scaling_and_heads/four_heads/seed-400" in COMMANDS
    assert {*QUICK} <= {*COMMANDS}


@pytest.mark.parametrize(
    "line",
    [pytest.param(line, marks=[] if line in QUICK else pytest.mark.long) for line in COMMANDS],
)
def test_a_command_is_as_printed(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Two steps of a training are enough, one seed, no tuning, and empty answers.

    A copy of the experiments has these: an override would be in the way of a variant's own steps.
    """
    monkeypatch.chdir(tmp_path)
    shipped = tmp_path / "experiments"
    shipped.mkdir()
    shutil.copy(ROOT / "experiments" / RERUNS, shipped)
    for path in (ROOT / "experiments").glob("*.py"):
        few = re.sub(r'(steps(?:":|=) ?)[\d_]+', r"\g<1>2", path.read_text())
        few = re.sub(r"^ +tune=.*\n", "", few, flags=re.MULTILINE)
        (shipped / path.name).write_text(few)
    monkeypatch.setattr("attnjax.lab.runs.catalog.shipped_folder", lambda: shipped)
    monkeypatch.setenv("ATTNJAX_PREPARED", str(tmp_path / "prepared"))
    monkeypatch.setattr(
        Experiment, "answers", lambda self, params, sources, **_: [[END]] * len(sources)
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"5 0 3 1 2 4 0 1\n")))
    (tmp_path / "cosine.py").write_text(snippets()[1])
    words = shlex.split(line)[1:]
    for name, variant in re.findall(r" runs/(\w+)(?:/(\w+)/seed)?", line):
        if words[0] != "run":
            assert main(["run", name, "--variant", variant or "four_heads", "--seeds", "1"]) == 0
            capsys.readouterr()
    code = main([*words, "--seeds", "1"] if words[0] == "run" else words)
    message = capsys.readouterr().err
    if code == 2 and "ATTNJAX_DATA" in message:
        pytest.skip("needs real corpora: set ATTNJAX_DATA to the folder that holds them")
    assert code == 0, message


def test_the_commands_work_in_the_shell_that_ran_make():
    """Its path lacks .venv/bin; the first line of the block puts it there, once."""
    block = re.search(r"^    source .*\n(?:    .*\n)+", README.read_text(), re.MULTILINE)
    assert block
    assert block[0].count("source") == 1
    activate, *lines = (line.strip() for line in block[0].splitlines())
    if not (ROOT / activate.split()[1]).exists():
        pytest.skip("needs the .venv of `make setup`")
    (listing,) = (line for line in lines if line.startswith("attnjax list"))
    path = os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if ".venv" not in folder
    )
    environment = {name: text for name, text in os.environ.items() if name != "VIRTUAL_ENV"}
    result = subprocess.run(
        ["bash", "-ec", f"{activate}\n{listing}"],
        cwd=ROOT,
        env=environment | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert "scaling_and_heads" in result.stdout
