"""The result of a training: the last epochs or the best, and what stays on disk."""

import numpy as np
import pytest

from attnjax.errors import UserError
from attnjax.lab.checkpoints.checkpoint import FOLDER
from attnjax.lab.loop import loop
from attnjax.training.settings import Training
from tests.training.looping import CORPUS, PER_EPOCH, go, same

pytestmark = pytest.mark.usefixtures("compiled_once")


def script(monkeypatch: pytest.MonkeyPatch, *losses: float) -> None:
    """Let the validation losses be these."""
    coming = iter(losses)

    def scripted(*_: object) -> dict[str, np.ndarray]:
        return {"loss": np.array([next(coming)])}

    monkeypatch.setattr(loop, "validate", scripted)


def test_the_best_epoch_is_the_result_of_an_early_stopping(tmp_path, monkeypatch):
    (two,) = go(tmp_path / "two", 0, steps=2 * PER_EPOCH)
    script(monkeypatch, 3.0, 1.0, 2.0, 2.5)
    settings = {"steps": 20 * PER_EPOCH, "patience": 2}
    (best,) = go(tmp_path / "best", 0, result="best", **settings)
    assert (best.step, best.best) == (4 * PER_EPOCH, 1.0)
    assert same(best.params, two.params)
    script(monkeypatch, 3.0, 1.0, 2.0, 2.5)
    (last,) = go(tmp_path / "last", 0, **settings)
    assert not same(last.params, two.params)


def test_the_best_and_the_last_checkpoints_stay(tmp_path, monkeypatch):
    script(monkeypatch, 3.0, 1.0, 2.0, 4.0, 3.5, 3.6)
    go(tmp_path, 0, steps=6 * PER_EPOCH, keep_best=2, keep_last=2)
    kept = sorted(int(path.name) // PER_EPOCH for path in (tmp_path / "0" / FOLDER).iterdir())
    assert kept == [2, 3, 5, 6]


@pytest.mark.parametrize(
    "settings, name",
    [
        ({"patience": 1}, "patience"),
        ({"result": "best"}, "result best"),
        ({"keep_best": 1}, "keep_best"),
    ],
)
def test_what_needs_validation_is_refused_without_it(settings, name):
    without = type(CORPUS)(splits={"train": CORPUS.splits["train"]})
    with pytest.raises(UserError, match=rf"training\.{name} needs validation examples"):
        Training(**settings).check(without)
