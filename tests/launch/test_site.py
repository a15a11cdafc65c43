"""Site files: every key is known, and every value fits."""

from pathlib import Path

import pytest

from attnjax.errors import UserError
from launch.site import read_site
from launch.slurm.site import SlurmSite

SITES = Path(__file__).parents[2] / "launch" / "sites"


def read(folder: Path, text: str) -> SlurmSite:
    path = folder / "site.toml"
    path.write_text(text)
    return read_site(path, SlurmSite)


@pytest.mark.parametrize("name", ["gpu", "container", "cpu"])
def test_the_examples_are_sites(name):
    assert read_site(SITES / f"{name}.toml", SlurmSite).partition


def test_the_first_example_shows_every_key_but_those_of_a_container():
    text = (SITES / "gpu.toml").read_text()
    shown = {line.partition(" = ")[0] for line in text.splitlines() if " = " in line}
    keys = set(SlurmSite.__dataclass_fields__)
    assert shown == keys - {"container", "python"}


def test_values_are_read(tmp_path):
    site = read(tmp_path, 'hosts = 2\nmodules = ["cuda/12", "gcc"]\nprice = 2')
    assert (site.hosts, site.modules, site.price) == (2, ("cuda/12", "gcc"), 2)


@pytest.mark.parametrize(
    "text, said",
    [
        ('partion = "gpu"', "unknown key 'partion'; did you mean partition?"),
        ("hosts = 0", "hosts: wanted int above 0; got int 0"),
        ('hosts = "two"', "hosts: wanted int above 0; got str 'two'"),
        ("modules = [1]", "modules"),
        ("gpus = 8\nnode_gpus = 4", "gpus: a node has 4; got 8"),
        ("gpus = 4\nprocesses = 3", "processes: wanted 1, or one for each of the 4 GPUs"),
        ('time = "8h"', "time: wanted HH:MM:SS"),
        ('time = "00:04:00"', "grace: wanted fewer seconds than time has, 240; got 300"),
        ("hosts = = 1", "is not TOML"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_file(tmp_path, text, said):
    with pytest.raises(UserError) as caught:
        read(tmp_path, text)
    assert "site.toml" in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"the site file .*none\.toml cannot be read"):
        read_site(tmp_path / "none.toml", SlurmSite)
