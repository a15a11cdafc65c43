"""The Dockerfile names what is here."""

import fnmatch
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text().splitlines()


def test_the_image_has_what_the_package_is_built_of():
    """Whatever pyproject.toml names is copied, and .dockerignore lets it through."""
    copied = {word for line in DOCKERFILE if line.startswith("COPY") for word in line.split()[1:-1]}
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = built["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {built["project"]["readme"], *built["project"]["license-files"], *wheel["packages"]}
    assert needed | {*wheel["force-include"], "constraints.txt", "pyproject.toml"} == copied
    sent = [
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    ]
    for path in copied:
        assert (ROOT / path).exists()
        assert any(fnmatch.fnmatch(path, pattern) for pattern in sent), path


def test_the_image_is_of_a_python_and_an_extra_that_there_is():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = next(line.split(":")[1] for line in DOCKERFILE if line.startswith("FROM"))
    assert built["requires-python"] == f">={base.removesuffix('-slim')}"
    extra = next(line.split("=")[1] for line in DOCKERFILE if line.startswith("ARG JAX"))
    assert {extra, "tpu"} <= built["optional-dependencies"].keys()
