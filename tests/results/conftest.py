"""Two tiny runs, the file that they are of, and their records."""

from dataclasses import replace
from pathlib import Path

import pytest

from attnjax.config.vary import vary
from attnjax.experiment import Claim, Value
from attnjax.experiment.load import ExperimentFile, load
from attnjax.lab.cli.main import main
from attnjax.lab.results.read import read_runs, recordings
from attnjax.lab.results.record import Record
from tests.results.of_shares import NOW, TINY


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    words = ["--variant", "scaled", "--seeds", "2", "--training.steps", "2"]
    assert main(["run", str(TINY), "--runs", str(folder), *words]) == 0
    return folder / "tiny"


@pytest.fixture(scope="module")
def short(runs) -> ExperimentFile:
    """The file, with as many steps and seeds as the runs have, and a claim that is easy."""
    loaded = load(TINY)
    ablation = loaded.ablation
    scaled = vary(ablation.variants["scaled"], {"training.steps": 2})
    claim = Claim(text="it is a share", estimand=Value("exact_match", "scaled"), low=-1)
    return replace(
        loaded, ablation=replace(ablation, variants={"scaled": scaled}, seeds=2, claims=(claim,))
    )


@pytest.fixture(scope="module")
def made(runs, short) -> list[Record]:
    """Records as their files have them, which do not say where a run lies."""
    return [replace(made, source=None) for made in recordings(read_runs(runs), short, NOW)]
