"""The result of a run: what is written is what is read."""

import json
import math
from dataclasses import replace

from attnjax.evaluation.measurement import MeasurementRecord
from attnjax.lab.loop.run_state import TrainResult
from attnjax.lab.runs.manifest import Manifest
from attnjax.lab.runs.result import RunResult, read_result
from attnjax.lab.runs.run_folder import write_result

OUTCOME = TrainResult(
    params={}, step=6, averaged=[3, 6], epochs=2, seconds=1.5, stopped="steps", best=0.25
)
MANIFEST = Manifest(experiment="tiny", variant="scaled", seed=3, settings={}, text="", path="")
EXACT = MeasurementRecord(name="exact_match", value=0.5, better="higher")
HIDDEN = MeasurementRecord(name="alignment_error", part=(1, 4), moment="initial", value=None)


def test_what_is_written_is_read(tmp_path):
    result = replace(
        RunResult.of(OUTCOME, MANIFEST),
        metrics=(EXACT, HIDDEN),
        details={"signature": "tok:13a", "best_validation_bleu": 30.5},
    )
    (tmp_path / "hypotheses.txt").write_text("3 2 1\n")
    write_result(tmp_path, result)
    found = read_result(tmp_path)
    assert found is not None
    assert [*found.files] == ["hypotheses.txt"]
    assert replace(found, files={}) == result


def test_details_stand_beside_the_other_keys(tmp_path):
    result = RunResult.of(OUTCOME, MANIFEST)
    write_result(tmp_path, replace(result, metrics=(EXACT,), details={"signature": "tok:13a"}))
    content = json.loads((tmp_path / "result.json").read_text())
    assert content["signature"] == "tok:13a"
    assert "details" not in content
    assert content["metrics"] == [{"name": "exact_match", "value": 0.5, "better": "higher"}]
    assert content["averaged"] == [3, 6]


def test_a_detail_that_is_not_finite_is_null(tmp_path):
    details = {"heads": [[0.5, math.nan], [math.inf]]}
    write_result(tmp_path, replace(RunResult.of(OUTCOME, MANIFEST), details=details))
    found = read_result(tmp_path)
    assert found is not None
    assert found.details == {"heads": [[0.5, None], [None]]}


def test_a_diverged_training_has_no_loss():
    diverged = replace(OUTCOME, best=math.inf)
    assert RunResult.of(diverged, MANIFEST).best_validation_loss is None
