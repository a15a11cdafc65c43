"""Rotary angles for texts longer than those of training, as parts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil, floor, log, pi

import numpy as np

from attnjax.config.constraints import PositiveFloat, PositiveInt
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class RotaryScaling(ABC):
    """How rotary angles change for texts that are `factor` times as long.

    Raises:
        UserError: the factor is below 1.
    """

    factor: PositiveFloat = 4.0

    def __post_init__(self) -> None:
        """Refuse texts that are shorter."""
        if self.factor < 1:
            raise UserError(f"{type(self).__name__}.factor must be at least 1; got {self.factor}")

    @abstractmethod
    def rates(self, width: int, base: float) -> np.ndarray:
        """Return the angle of each pair of features at a distance of 1, [K / 2], in radians."""

    def temperature(self) -> float:
        """Return what logits are multiplied by."""
        return 1.0


def unscaled_rates(width: int, base: float) -> np.ndarray:
    """Return base^(-2i/K), i = 0, ..., K/2 - 1. Su et al. 2021, eq. 15."""
    return base ** (-np.arange(0, width, 2) / width)


@dataclass(frozen=True, kw_only=True)
class Interpolated(RotaryScaling):
    """All angles are divided by the factor. Chen et al. 2023, eq. 4 (position interpolation)."""

    def rates(self, width: int, base: float) -> np.ndarray:
        return unscaled_rates(width, base) / self.factor


@dataclass(frozen=True, kw_only=True)
class LargerBase(RotaryScaling):
    """The base grows to base factor^(K / (K - 2)), "NTK-aware".

    The fastest pair keeps its angle, that of the slowest is divided by the factor.

    Raises:
        UserError: K is 2.

    Source: Peng et al. 2024, definition 1; after bloc97 2023.
    """

    def rates(self, width: int, base: float) -> np.ndarray:
        if width == 2:
            raise UserError("LargerBase wants queries and keys wider than 2")
        return unscaled_rates(width, base * self.factor ** (width / (width - 2)))


@dataclass(frozen=True, kw_only=True)
class Yarn(RotaryScaling):
    """YaRN: pairs that turn often in the trained length keep their angle, slow ones are divided.

        rate_i = (1 - r_i) base^(-2i/K) + r_i base^(-2i/K) / factor
        r_i    = (i - low) / (high - low), within [0, 1]

    low and high are the pairs, rounded down and up as in the authors' program, that turn `fast` and
    `slow` times in `trained_length` words. Logits are multiplied by (0.1 ln(factor) + 1)^2.

    Source: Peng et al. 2024, section 3.2 and 3.4, eq. 22.
    """

    trained_length: PositiveInt = 2048
    fast: PositiveFloat = 32.0
    slow: PositiveFloat = 1.0

    def rates(self, width: int, base: float) -> np.ndarray:
        own = unscaled_rates(width, base)

        def pair_of(turns: float) -> float:
            return width * log(self.trained_length / (turns * 2 * pi)) / (2 * log(base))

        low, high = max(floor(pair_of(self.fast)), 0), min(ceil(pair_of(self.slow)), width - 1)
        ramp = (np.arange(width // 2) - low) / max(high - low, 0.001)
        divided = np.clip(ramp, 0, 1)
        return own * (1 - divided) + own / self.factor * divided

    def temperature(self) -> float:
        return (0.1 * log(self.factor) + 1) ** 2
