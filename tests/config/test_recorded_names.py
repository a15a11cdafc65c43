"""Records name parts by a table, so that a class may move, be renamed, and get fields."""

import hashlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.score.base import Dot, Score
from attnjax.config import recorded_names
from attnjax.config.parts import shipped
from attnjax.config.recorded_names import PACKAGE, RECORDED, added_fields
from attnjax.config.serialize import FLOAT, OWN, from_json, to_json
from attnjax.config.walk import field_names
from attnjax.data.wordpiece import WordPiece
from attnjax.experiment.design import claim_digest
from attnjax.experiment.load import load
from attnjax.lab.runs.trust import shipped_folder
from attnjax.nn.norm import RMSNorm

ROOT = Path(__file__).parents[2]


def names(data: Any) -> set[str]:
    """Return the names of parts in a record."""
    if isinstance(data, list):
        return set().union(*map(names, data))
    if not isinstance(data, dict):
        return set()
    return {data["type"], *set().union(*map(names, data.values()))}


def test_the_rows_of_records_that_exist_are_frozen():
    """A new row is added to the table, and to nothing here; its name has no module."""
    rows = {recorded: fields for recorded, fields in RECORDED.values() if recorded.count(".") > 1}
    text = json.dumps(rows, sort_keys=True)
    assert len(rows) == 256
    assert len(RECORDED) == len({recorded for recorded, _ in RECORDED.values()})
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "af68179a8151832f"


@pytest.mark.long
def test_a_part_that_moves_to_another_file_has_its_records(tmp_path):
    """In a copy of the package the file of all decays has another name."""

    def dry_run() -> str:
        words = ["run", "arena", "--dry-run", "--records", "--variant", "parity-retention"]
        done = subprocess.run(
            [sys.executable, "-m", "attnjax", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    shutil.copytree(ROOT / "attnjax", tmp_path / "attnjax")
    for folder in ("experiments", "records"):
        (tmp_path / "attnjax" / folder).symlink_to(ROOT / folder)
    before = dry_run()
    assert "0 of 3 runs are to be trained; 3 are recorded" in before
    decay = tmp_path / "attnjax/attention/state/decay.py"
    decay.rename(decay.with_name("forgetting_rates.py"))
    for path in (tmp_path / "attnjax").rglob("*.py"):
        text = path.read_text().replace("attention.state.decay", "attention.state.forgetting_rates")
        path.write_text(text)
    assert dry_run() == before


@pytest.mark.parametrize("name", RECORDED)
def test_a_row_names_a_class_of_today_that_has_its_fields(name: str):
    kind, (_, fields) = shipped()[name], RECORDED[name]
    assert {*fields.split()} <= {*field_names(kind)}
    parameters = inspect.signature(kind).parameters
    assert all(parameters[field].default is not inspect._empty for field in added_fields(kind))


def test_every_part_of_a_shipped_experiment_has_a_row():
    """Otherwise a field that its class gets would change the digests of its records."""
    recorded = {FLOAT, *(recorded for recorded, _ in RECORDED.values())}

    def without_row(data: Any) -> set[str]:
        return {name for name in names(data) - recorded if not name.startswith(OWN)}

    for path in sorted(shipped_folder().glob("*.py")):
        loaded = load(path)
        for variant in loaded.ablation.variants.values():
            assert not without_row(to_json(variant, loaded.own))
        for claim in loaded.ablation.claims:
            assert not without_row(to_json((claim.estimand, claim.given), loaded.own))


def test_a_class_that_moved_is_recorded_and_read_as_before(monkeypatch):
    before, path = to_json(Dot()), shipped_folder() / "scaling_and_heads.py"
    claims = [claim_digest(claim) for claim in load(path).ablation.claims]
    for name in ("Dot", "Difference", "Value"):
        monkeypatch.setattr(shipped()[name], "__module__", "attnjax.somewhere.else_")
    assert before == {"type": "attnjax.attention.score.Dot"} == to_json(Dot())
    assert isinstance(from_json(before), Dot)
    assert claims == [claim_digest(claim) for claim in load(path).ablation.claims]


def test_a_class_without_a_row_is_recorded_by_its_name_alone(monkeypatch):
    rows = {name: row for name, row in RECORDED.items() if name != "RMSNorm"}
    monkeypatch.setattr(recorded_names, "RECORDED", rows)
    record = to_json(RMSNorm(epsilon=1e-5))
    assert record == {"type": "attnjax.RMSNorm", "epsilon": 1e-5}
    assert from_json(record) == RMSNorm(epsilon=1e-5)


@pytest.mark.parametrize(
    ("part", "added"),
    [
        (MultiHead(), ("query_key_norm", "context_norm", "gate", "deterministic")),
        (WordPiece(), ("strip_accents", "split_ideographs")),
    ],
)
def test_an_added_field_is_recorded_only_where_it_is_not_its_default(part, added):
    assert added_fields(type(part)) == {*added}
    record = to_json(part)
    assert not {*added} & {*record}
    assert from_json(record) == part
    other = WordPiece(strip_accents=False) if added[0] == "strip_accents" else None
    other = other or MultiHead(query_key_norm=RMSNorm())
    assert added[0] in to_json(other)
    assert from_json(to_json(other)) == other


@dataclass(frozen=True)
class Own(WordPiece):
    mine: int = 1


def test_a_part_of_ones_own_leaves_out_what_its_base_has_got():
    assert added_fields(Own) == {"strip_accents", "split_ideographs"}
    assert [*to_json(Own(), {"Own": Own})] == ["type", "file", "lower", "mine"]
    assert issubclass(Dot, Score)
    assert recorded_names.class_name(f"{PACKAGE}Dot") == "Dot"
