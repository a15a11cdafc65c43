import numpy as np
import pytest

from attnjax.training.schedules import Constant, Cosine, Halving, InverseSquareRoot, Noam


@pytest.mark.parametrize("step", [1, 3, 399, 400, 401, 10_000])
def test_schedules_are_the_printed_formulae(step):
    noam = 2.0 * 64**-0.5 * min(step**-0.5, step * 400**-1.5)
    np.testing.assert_allclose(Noam(width=64, warmup=400, factor=2.0).rate(step), noam, rtol=1e-6)
    # fairseq, inverse_square_root_schedule.py: lr_step and decay_factor
    lr_step, decay_factor = (5e-3 - 1e-7) / 400, 5e-3 * 400**0.5
    fairseq = 1e-7 + step * lr_step if step < 400 else decay_factor * step**-0.5
    schedule = InverseSquareRoot(peak=5e-3, warmup=400, start=1e-7)
    np.testing.assert_allclose(schedule.rate(step), fairseq, rtol=1e-6)
    assert Constant(value=0.25).rate(step) == 0.25


def test_a_rate_is_halved_on_time():
    schedule = Halving(value=0.8, after=5, every=3)
    wanted = [0.8, 0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1]  # updates 1 to 11
    rates = [float(schedule.rate(step)) for step in range(1, 12)]
    np.testing.assert_allclose(rates, wanted, rtol=1e-6)


def test_a_cosine_falls_from_the_peak_to_nothing():
    schedule = Cosine(peak=0.8, warmup=4, decay=6)
    half = 0.4 * (1 + np.sqrt(0.5))  # after a quarter of the way down: cos 45 degrees
    for step, wanted in {1: 0.2, 4: 0.8, 5.5: half, 7: 0.4, 10: 0.0, 11: 0.0}.items():
        np.testing.assert_allclose(schedule.rate(step), wanted, rtol=1e-6, atol=1e-7)
