"""Optimizers, as parts that make an optax transformation."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import optax

from attnjax.config.constraints import DropoutRate, NonNegativeFloat, PositiveFloat, PositiveInt
from attnjax.nn.parameter_kinds import Kind, map_by_kind
from attnjax.nn.paths import flat, unflat
from attnjax.nn.width_transfer import is_linear_map, widening
from attnjax.training.schedules import Constant, Noam, Schedule


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """How gradients change parameters. A part: subclasses are chosen on the command line.

    Attributes:
        clip: the largest global norm of a gradient (of the mean over tokens); a larger gradient is
            scaled down first (Pascanu et al. 2013, algorithm 1). None: gradients are not clipped.
    """

    schedule: Schedule = field(default_factory=Noam)
    clip: PositiveFloat | None = None

    def make(self, rate: jax.Array | None = None) -> optax.GradientTransformation:
        """Return an optax transformation; None: the learning rate is that of the schedule."""
        return optax.chain(
            optax.identity() if self.clip is None else optax.clip_by_global_norm(self.clip),
            self.scaling(),
            # optax counts from 0, the papers' formulae from 1
            optax.scale_by_learning_rate(
                lambda count: self.schedule.rate(count + 1) if rate is None else rate
            ),
        )

    @abstractmethod
    def scaling(self) -> optax.GradientTransformation:
        """Return the transformation of gradients that comes before the learning rate."""


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """Adam with the constants of Vaswani et al. 2017, section 5.3.

    Attributes:
        weight_decay: lambda of AdamW: each update also takes rate * lambda * parameter away, from
            all weights, see `attnjax.nn.parameter_kinds`: biases and scales do not decay.
        base_width: D_0, the width at which the rate was tuned: a model D wide has linear maps with
            D_0 / D times the rate, see `attnjax.nn.width_transfer`, and the same decay. None: one
            rate for all parameters.

    Source: Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2; `base_width`:
    Yang et al. 2022, Table 8.
    """

    b1: DropoutRate = 0.9
    b2: DropoutRate = 0.98
    epsilon: PositiveFloat = 1e-9  # added to the root of the second moment
    weight_decay: NonNegativeFloat = 0.0
    base_width: PositiveInt | None = None

    def scaling(self) -> optax.GradientTransformation:
        adam = optax.scale_by_adam(b1=self.b1, b2=self.b2, eps=self.epsilon)
        if self.base_width is not None:
            adam = optax.chain(adam, optax.stateless(partial(_at_width, self.base_width)))
        if not self.weight_decay:
            return adam
        is_weight = partial(map_by_kind, lambda kind, _: kind is Kind.WEIGHT)
        return optax.chain(adam, optax.add_decayed_weights(self.weight_decay, is_weight))


def _at_width(base_width: int, updates: Any, params: Any) -> Any:
    """Return the updates of a model of any width, at a rate that was tuned at the base width."""
    arrays = flat(updates)
    ratio = widening({name: array.shape for name, array in arrays.items()}, base_width)
    slowed = {
        name: array / ratio if is_linear_map(name) else array for name, array in arrays.items()
    }
    return unflat(slowed)


@dataclass(frozen=True, kw_only=True)
class Adadelta(Optimizer):
    """Adadelta with the constants of Bahdanau et al. 2015, appendix B.2, and a rate of 1.

    Source: Zeiler 2012, algorithm 1.
    """

    schedule: Schedule = field(default_factory=lambda: Constant(value=1.0))
    rho: DropoutRate = 0.95  # the decay of both running means
    epsilon: PositiveFloat = 1e-6  # added to both

    def scaling(self) -> optax.GradientTransformation:
        return optax.scale_by_adadelta(rho=self.rho, eps=self.epsilon)


@dataclass(frozen=True, kw_only=True)
class GradientDescent(Optimizer):
    """Stochastic gradient descent without momentum."""

    def scaling(self) -> optax.GradientTransformation:
        return optax.identity()
