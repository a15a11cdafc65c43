"""Site files: every key is known, and every value fits."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from attnjax.errors import UserError
from launch.slurm.site import SlurmSite, read_site, seconds

SITES = Path(__file__).parents[3] / "launch" / "sites"


def read(folder: Path, text: str) -> SlurmSite:
    path = folder / "site.toml"
    path.write_text(text)
    return read_site(path)


@pytest.mark.parametrize("name", ["gpu", "container", "cpu"])
def test_the_examples_are_sites(name):
    assert read_site(SITES / f"{name}.toml").partition


def test_the_first_example_shows_every_key_but_those_of_a_container():
    shown = tomllib.loads((SITES / "gpu.toml").read_text()).keys()
    keys = set(SlurmSite.__dataclass_fields__)
    assert shown == keys - {"container", "python"}


def test_values_are_read(tmp_path):
    site = read(tmp_path, 'hosts = 2\nmodules = ["cuda/12", "gcc"]\n[env]\nA = "1"')
    assert (site.hosts, site.modules, site.env) == (2, ("cuda/12", "gcc"), {"A": "1"})


@pytest.mark.parametrize(
    "text, message",
    [
        ("env = 'secret'", "env: wanted a table"),
        ("[env]\n'A B' = 'secret'", "env: wanted names of environment variables; got 'A B'"),
        ("[env]\nA = ['secret']", "env.A: wanted a string"),
        ("[env]\nA = 'secret'\nB = \"secret\\u0000\"", "env.B: wanted a string"),
        ("gpus = 4\nprocesses = 3\n[env]\nA = 'secret'", "processes: wanted 1"),
    ],
)
def test_no_message_has_a_value_of_the_environment(tmp_path, text, message):
    with pytest.raises(UserError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_neither_has_the_printed_site(tmp_path):
    site = read(tmp_path, "[env]\nA = 'secret'")
    assert "secret" not in f"{site} {site!r}"
    assert site.environment["A"] == "secret"


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
        ("hosts = " + "[" * 10_000, "is nested too deeply"),
        ("hosts." + "a." * 10_000 + "a = 1", "is nested too deeply"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_file(tmp_path, text, said):
    with pytest.raises(UserError) as caught:
        read(tmp_path, text)
    assert "site.toml" in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"the site file .*none\.toml cannot be read"):
        read_site(tmp_path / "none.toml")


@given(integers(0, 40), integers(0, 23), integers(0, 59), integers(1, 59))
def test_a_duration_is_read_as_it_is_written(days, hours, minutes, rest):
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    assert seconds(f"{days}-{hours:02}:{minutes:02}:{rest:02}") == total
    assert seconds(f"{days * 24 + hours}:{minutes:02}:{rest:02}") == total


@pytest.mark.parametrize("written", ["8", "8h", "1:60:00", "00:00:00", "-1:00:00", "1-1", ""])
def test_another_form_is_refused_with_the_right_one(written):
    with pytest.raises(UserError, match="wanted HH:MM:SS or D-HH:MM:SS"):
        seconds(written)


@given(integers(1, 9), integers(1, 9), integers(1, 99))
def test_the_cost_is_hosts_times_hours(jobs, hosts, hours):
    line = SlurmSite(hosts=hosts, time=f"{hours}:00:00").cost(jobs)
    assert f"= {jobs * hosts * hours:,} host-hours at most" in line
    assert (
        SlurmSite(hosts=2, time="01:30:00")
        .cost(jobs=1)
        .startswith("1 job x 2 hosts x 1.5 h = 3 host-hours at most")
    )
