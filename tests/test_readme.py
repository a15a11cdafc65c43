import re
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.cli.catalog import find
from attnjax.config.walk import differences
from attnjax.experiment.load import load, load_text

README = Path(__file__).parents[1] / "README.md"


def snippets() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


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


def test_every_file_it_names_is_there():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text())
    assert links
    missing = [link for link in links if not (README.parent / link).exists()]
    assert not missing
