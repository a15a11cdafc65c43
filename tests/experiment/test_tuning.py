"""Which grids an ablation may be tuned over."""

import math
from math import inf
from typing import Any

import numpy as np
import pytest

from attnjax.data.generated.sequences import Copy
from attnjax.errors import UserError
from attnjax.experiment import Ablation, Experiment, Setting, vary
from attnjax.experiment.tuning import best, choose, extended, point_name, points, tied
from attnjax.models.transformer import Transformer
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant, Noam

RATE = "optimizer.schedule.value"
BASE = Experiment(
    task=Copy(train=20, valid=4, test=4, longest=5),
    model=Transformer(width=16),
    optimizer=Adam(schedule=Constant(value=0.1)),
)


def ablation(tune: Any, **settings: Any) -> Ablation:
    return Ablation(base=BASE, **{"variants": {"a": BASE}, "tune": tune} | settings)


@pytest.mark.parametrize(("most", "dropouts"), [(1.0, (0.4, 0.8)), (2.0, (0.4, 0.8, 1.6))])
def test_a_grid_grows_by_a_value_that_its_field_allows(most, dropouts):
    """The best of the two values lies at the edge; the next one is 1.6."""
    grid = {"model.dropout": (0.4, 0.8)}

    def losses(point: Any) -> tuple[float, ...]:
        return (1 - point["model.dropout"] / 4,)

    chosen = choose(grid, losses, lambda point: point["model.dropout"] < most)
    assert chosen.grid == {"model.dropout": dropouts}
    assert [*chosen.points] == [{"model.dropout": dropouts[-1]}]


def test_points_are_all_combinations_and_each_has_a_folder():
    grid = {RATE: (0.001, 0.1), "model.dropout": (0, 0.5, 1e-5)}
    assert points(grid) == [
        {RATE: rate, "model.dropout": dropout}
        for rate in (0.001, 0.1)
        for dropout in (0, 0.5, 1e-5)
    ]
    names = [point_name(point) for point in points(grid)]
    assert names[0] == "optimizer.schedule.value=0.001,model.dropout=0"
    assert names[5] == "optimizer.schedule.value=0.1,model.dropout=1e-05"
    assert len(set(names)) == 6


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ({RATE: (0.1,)}, "wanted tuple of float of at least 2; got tuple"),
        ({RATE: (0.1, "fast")}, "wanted float; got str 'fast'"),
        ({RATE: (0.1, 0.2, 1e-1)}, "value has a value twice: 0.1, 0.2, 0.1"),
        ({RATE: (0.1, -0.1)}, "tune, variant a: optimizer.schedule.value: wanted float above 0"),
        ({"optimizer.schedule.peak": (0.1, 0.2)}, "tune, variant a: no field optimizer.schedule.p"),
        ({"model.**.dropout": (0.1, 0.2)}, "a field is named by its whole path; got model.**.drop"),
        ({"model.width": (16, 16.5)}, "wanted int above 0"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(grid, said):
    with pytest.raises(UserError) as error:
        ablation(grid)
    assert said in str(error.value)


def test_every_variant_must_have_the_field_and_may_not_be_defined_by_it():
    noam = {"a": BASE, "noam": vary(BASE, {"optimizer.schedule": Noam()})}
    with pytest.raises(UserError, match="tune, variant noam: no field optimizer.schedule.value"):
        ablation({RATE: (0.1, 0.2)}, variants=noam)
    fast = {"a": BASE, "fast": vary(BASE, {RATE: 0.5})}
    with pytest.raises(UserError, match="variant fast is defined by optimizer.schedule.value, so"):
        ablation({RATE: (0.1, 0.2)}, variants=fast)


def test_the_seed_that_tunes_is_none_of_the_runs():
    assert ablation({RATE: (0.1, 0.2)}).tune_seed == 1_000_000
    assert [*ablation({RATE: (0.1, 0.2)}, tune_seeds=2).tuning_seeds] == [1_000_000, 1_000_001]
    for seed in (7, 2):
        with pytest.raises(
            UserError, match="none of the seeds 3 to 10,002; got tune_seed=[72] and"
        ):
            ablation({RATE: (0.1, 0.2)}, first_seed=3, tune_seed=seed)
    ablation({RATE: (0.1, 0.2)}, first_seed=3, tune_seed=2, tune_seeds=1)
    with pytest.raises(UserError, match="tune_seeds: wanted int above 0 and at most 10000"):
        ablation({RATE: (0.1, 0.2)}, tune_seeds=10**9)


def test_a_grid_grows_by_one_value_beyond_the_edge_where_the_best_lies():
    grid = {RATE: (0.002, 0.006, 0.018), "model.dropout": (0.0, 0.1)}
    assert extended(grid, {RATE: 0.006, "model.dropout": 0.1}) == grid
    assert extended(grid, {RATE: 0.018, "model.dropout": 0.0}) == {
        **grid,
        RATE: (0.002, 0.006, 0.018, 0.054),
    }
    falling = {RATE: (0.4, 0.2, 0.1)}
    assert extended(falling, {RATE: 0.4}) == {RATE: (0.8, 0.4, 0.2, 0.1)}
    assert extended(falling, {RATE: 0.1}) == {RATE: (0.4, 0.2, 0.1, 0.05)}


def test_the_lowest_mean_is_best_and_those_within_a_standard_error_are_tied():
    assert best([(3.0, 1.0), (1.0, 2.0), (inf, 0.0)]) == 1
    assert best([(inf, 1.0)]) is None
    assert best([(1.0, 1.0), None]) is None
    assert tied([(inf, 1.0)]) == tied([(1.0, 1.0), None]) == []
    # differences from the best 0.1, 0.3: mean 0.2, standard error 0.1
    assert tied([(1.0, 1.0), (1.1, 1.3)]) == [0]
    # 0.4, -0.2: mean 0.1, standard error 0.3
    assert tied([(1.4, 0.8), (1.0, 1.0), (inf, 1.0)]) == [1, 0]
    assert tied([(0.5,), (0.5,)]) == [0], "one seed tells nothing of the error"
    random = np.random.default_rng(0)
    for losses in random.normal(size=(50, 4, 3)).round(1):
        first = best(losses.tolist())
        more = losses - losses[first]
        error = more.std(axis=1, ddof=1) / math.sqrt(3)
        near = more.mean(axis=1) <= error + 1e-12
        expected = {
            place
            for place, row in enumerate(losses)
            if near[place] and not fails(row, losses[first])
        }
        assert {*tied(losses.tolist())} == expected | {first}


def fails(here: np.ndarray, lowest: np.ndarray) -> bool:
    """Return whether a seed lies ten times as far above the least loss as all others."""
    every = np.concatenate([lowest, here])
    far = every - every.min()
    return here.max() == every.max() and far.max() > 10 * np.partition(far, -2)[-2]


def test_a_rate_at_which_one_seed_of_several_fails_is_not_tied():
    """The mean of (0, ..., 0, x) is x / S, and so is its standard error."""
    for count in (2, 3, 5, 8):
        for rounding in (-1e-9, 0.0, 1e-9):
            best_ones = [0.01 + 1e-4 * seed for seed in range(count)]
            one_fails = [*(loss + rounding for loss in best_ones[:-1]), 1.0]
            assert tied([one_fails, best_ones]) == [1]
    assert tied([(0.01, 1.2, 0.01), (0.01, 0.01, 1.1)]) == [1, 0], "a seed fails at the best, too"
    assert tied([(1.80, 1.82, 1.79), (1.81, 1.78, 1.805)]) == [1, 0]


HEALTHY = {
    "floor": lambda draw, shape: 1.8 + 0.02 * draw.normal(size=shape),
    "skewed": lambda draw, shape: 0.005 * np.exp(draw.normal(size=shape)),
}
"""Losses of seeds that learn, whose spread is small beside a loss that is left, or is not."""


def share_tied(draw: np.random.Generator, kind: str, seeds: int, *, one_fails: bool) -> float:
    """Return the share of pairs of equally good points that are tied, of which one may fail."""
    losses = HEALTHY[kind](draw, (2_000, 2, seeds))
    if one_fails:
        losses[:, 1, 0] = draw.uniform(*((2.5, 4.0) if kind == "floor" else (0.3, 2.0)), 2_000)
    return sum(len(tied(pair.tolist())) == 2 for pair in losses) / len(losses)


@pytest.mark.parametrize("kind", HEALTHY)
@pytest.mark.parametrize("seeds", [3, 5])
def test_equally_good_rates_are_tied_and_unstable_ones_are_not(kind: str, seeds: int):
    draw = np.random.default_rng(seeds)
    assert 0.5 < share_tied(draw, kind, seeds, one_fails=False) < 0.66
    assert share_tied(draw, kind, seeds, one_fails=True) < 0.03


def test_a_setting_is_tuned_over_the_same_grid_unless_it_has_its_own():
    paper = {
        "same": Setting(changes={"training.steps": 9}),
        "none": Setting(changes={RATE: 0.3}, tune={}),
        "own": Setting(changes={}, tune={"model.dropout": (0.1, 0.2)}),
    }
    found = ablation({RATE: (0.1, 0.2)}, settings=paper, tune_seed=2_000_000)
    assert found.at("same").tune == {RATE: (0.1, 0.2)}
    assert found.at("none").tune == {}
    assert found.at("own").tune == {"model.dropout": (0.1, 0.2)}
    assert found.at("same").tune_seed == 2_000_000
    with pytest.raises(
        UserError, match="setting slow: optimizer.schedule.value is changed, and tu"
    ):
        ablation({RATE: (0.1, 0.2)}, settings={"slow": Setting(changes={RATE: 0.3})})
