"""`attnjax replay` computes a step of a run again."""

from pathlib import Path

import numpy as np
import pytest

from attnjax.cli.main import main

TINY = Path(__file__).parents[1] / "tiny.py"
ENDLESS = """

from dataclasses import dataclass

from attnjax.training.schedules import Schedule


@dataclass(frozen=True, kw_only=True)
class Endless(Schedule):
    def rate(self, step):
        return jnp.where(jnp.asarray(step) >= 4, jnp.inf, 1e-2)


endless = vary(base, {"optimizer.schedule": Endless()})
ablation = Ablation(base=base, variants={"endless": endless}, seeds=1)
"""


@pytest.mark.long
def test_the_step_that_stopped_a_run_and_one_before(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("attnjax.training.loop.saving.SECONDS_BETWEEN_CHECKPOINTS", 0)
    file = tmp_path / "endless.py"
    file.write_text(TINY.read_text() + ENDLESS)
    assert main(["run", str(file), "--runs", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "the loss of step 5 is nan" in said
    assert "`attnjax replay RUN 5`" in said
    run = tmp_path / "endless" / "endless" / "seed-0"
    assert main(["replay", str(run), "5"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "step 5, computed again from the checkpoint of step 3: parameters are not finite before"
    )
    assert main(["replay", str(run), "2"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("step 2, computed again from the beginning: all is finite: the loss is")
    assert main(["replay", str(run), "7"]) == 2
    assert "has 6 steps; got step 7" in capsys.readouterr().err
    path = run / "not_finite" / "step-5.npz"
    with np.load(path) as kept:
        np.savez(path, **{name: array + 1 for name, array in kept.items()})
    assert main(["replay", str(run), "5"]) == 2
    assert "are not what they were when step 5 was made" in capsys.readouterr().err
