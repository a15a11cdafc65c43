"""The experiment of `make ablation`: its variants, and its verdicts on CPUs of other kinds."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attnjax.attention import Additive, Dot, ScaledDot
from attnjax.config.walk import differences
from attnjax.experiment.load import load

ROOT = Path(__file__).parents[1]
ABLATION = load(ROOT / "experiments" / "scaling_and_heads.py").ablation
SCORES = {"unscaled": Dot(), "scaled": ScaledDot(), "additive": Additive(width=32)}


@pytest.mark.parametrize("name", ABLATION.variants)
def test_a_variant_differs_in_what_its_name_says(name):
    """From the base, or one that zips from the other."""
    what, number = name.rsplit("_", 1)
    base = ABLATION.base if what in SCORES else ABLATION.variant("one_head")
    found = differences(base, ABLATION.variant(name))
    others = {path: new for path, (_, new) in found.items() if not path.startswith("measures")}
    if what in SCORES:
        score = {} if what == "scaled" else {"score": SCORES[what]}
        expected = {"key_width": int(number), **score}
    else:
        expected = {} if what == "one" else {"heads": 4}
    assert {path.rsplit(".", 1)[1] for path in others} == expected.keys()
    assert all(new == expected[path.rsplit(".", 1)[1]] for path, new in others.items())


@pytest.mark.long
@pytest.mark.parametrize("isa", ["", "AVX2", "SSE4_2"])
def test_the_verdicts_of_the_page_come_out_with_other_instructions(isa: str, tmp_path: Path):
    """A CPU with other instructions rounds otherwise, so that every run is another."""
    page = (ROOT / "docs" / "results.md").read_text()
    block = page.split("## scaling_and_heads\n")[1].split("\n## ")[0]
    row = r"^\| [^|]* \| (?:. )?([a-z ]+) \|"
    words = re.findall(row, block, re.MULTILINE)[1:]
    environment = {**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "0", "JAX_PLATFORMS": "cpu"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)  # it may hold programs of another kind
    environment["XLA_FLAGS"] = f"--xla_cpu_max_isa={isa}" if isa else ""
    command = [sys.executable, "-m", "attnjax", "run", "scaling_and_heads", "--jobs", "auto"]
    command += ["--runs", str(tmp_path)]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    summary = json.loads((tmp_path / "scaling_and_heads" / "summary.json").read_text())
    verdicts = [claim["verdict"] for claim in summary["claims"]]
    assert verdicts == words
    assert len(verdicts) == len(ABLATION.claims)
    assert "undecided" not in verdicts
