"""Initializers: distributions of a model's initial parameters, as parts.

By default every part draws its own parameters. A model with an initializer draws all of them anew,
as its paper does: U(-0.08, 0.08), or one distribution for each kind of matrix.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Annotated, Any, Self

import jax
import jax.numpy as jnp

from attnjax.config.constraints import PositiveFloat, PositiveInt, SetByOwner
from attnjax.errors import UserError
from attnjax.nn.parameter_kinds import kind_of
from attnjax.nn.paths import flat, unflat
from attnjax.nn.width_transfer import ParameterShapes, is_linear_map, widening

ADDED = ".out.kernel"
"""The end of the name of a linear map whose result a sub-layer adds to its input."""


@dataclass(frozen=True, kw_only=True)
class Initializer(ABC):
    """A distribution of initial parameters."""

    @abstractmethod
    def draw(self, key: jax.Array, name: str, default: jax.Array) -> jax.Array:
        """Draw the initial value of one parameter, by a key of its own.

        The name is its path with dots, "writer.unit_0.recurrent"; `default` is what the part itself
        has drawn, with the wanted shape and dtype.
        """

    def fit(self, shapes: ParameterShapes) -> "Initializer":
        """Return the initializer for a model with parameters of these shapes; by default itself."""
        return self


@dataclass(frozen=True, kw_only=True)
class UniformInit(Initializer):
    """U(-scale, scale). Sutskever et al. 2014, section 3.4: 0.08; Luong et al. 2015: 0.1."""

    scale: PositiveFloat = 0.1

    def draw(self, key: jax.Array, name: str, default: jax.Array) -> jax.Array:
        return jax.random.uniform(key, default.shape, default.dtype, -self.scale, self.scale)


@dataclass(frozen=True, kw_only=True)
class NormalInit(Initializer):
    """N(0, std^2). Bahdanau et al. 2015, appendix B.1: 0.01, and 0.001 in the alignment model."""

    std: PositiveFloat = 0.01

    def draw(self, key: jax.Array, name: str, default: jax.Array) -> jax.Array:
        return self.std * jax.random.normal(key, default.shape, default.dtype)


@dataclass(frozen=True, kw_only=True)
class OrthogonalInit(Initializer):
    """Random orthogonal matrices; a matrix [W, k W] is made of k of them, one for each gate.

    Source: Saxe et al. 2014.
    """

    def draw(self, key: jax.Array, name: str, default: jax.Array) -> jax.Array:
        if default.ndim != 2 or default.shape[1] % default.shape[0]:
            raise UserError(
                f"OrthogonalInit needs a matrix [W, k W]; {name} has shape {list(default.shape)}"
            )
        gates = default.shape[1] // default.shape[0]
        draw = draw_by_gate(jax.nn.initializers.orthogonal(), gates)
        return draw(key, default.shape).astype(default.dtype)


@dataclass(frozen=True, kw_only=True)
class ZerosInit(Initializer):
    """All zeros."""

    def draw(self, key: jax.Array, name: str, default: jax.Array) -> jax.Array:
        return jnp.zeros_like(default)


@dataclass(frozen=True, kw_only=True)
class GPTInit(Initializer):
    """GPT-2's: N(0, std^2) for embeddings, positions and linear maps.

    A linear map "out", whose result a sub-layer adds to its input, is N(0, std^2 / N) where the
    model has N of them, `sublayers`, two in a layer. All other parameters keep the values that
    their parts draw: 0 for biases, 1 for the scales of norms.

    Source: Radford et al. 2019, section 2.3; Radford et al. 2018, section 4.1: 0.02.
    """

    std: PositiveFloat = 0.02
    sublayers: Annotated[PositiveInt | None, SetByOwner()] = None

    def fit(self, shapes: ParameterShapes) -> Initializer:
        return self._counted(shapes)

    def _counted(self, shapes: ParameterShapes) -> Self:
        return replace(self, sublayers=sum(name.endswith(ADDED) for name in shapes) or None)

    def draw(self, key: jax.Array, name: str, default: jax.Array) -> jax.Array:
        if not name.endswith(("embedding", "kernel")):
            return default
        shrink = (self.sublayers or 1) ** 0.5 if name.endswith(ADDED) else 1
        return NormalInit(std=self.std / shrink).draw(key, name, default)


@dataclass(frozen=True, kw_only=True)
class MuPInit(GPTInit):
    """`GPTInit` at the width D_0, `base_width`; at D linear maps are sqrt(D_0 / D) times as large.

    One of the parts by which a learning rate suits all widths, see `attnjax.nn.width_transfer`;
    `base_width` of the model and of `Adam` belong to it, and `WidthScaledDot`.

    Raises:
        UserError: the model has a parameter of which it is not known how it goes with the width.

    Source: Yang et al. 2022, Table 8.
    """

    base_width: PositiveInt = 64
    widening: Annotated[PositiveFloat | None, SetByOwner()] = None

    def fit(self, shapes: ParameterShapes) -> Initializer:
        ratio = widening(shapes, self.base_width)
        return replace(self._counted(shapes), widening=ratio)

    def draw(self, key: jax.Array, name: str, default: jax.Array) -> jax.Array:
        drawn = super().draw(key, name, default)
        return drawn / (self.widening or 1) ** 0.5 if is_linear_map(name) else drawn


@dataclass(frozen=True, kw_only=True)
class InitRule:
    """An initializer for parameters whose whole names match a shell pattern: "*.recurrent"."""

    parameters: str
    initializer: Initializer


@dataclass(frozen=True, kw_only=True)
class InitByName(Initializer):
    """One initializer for each kind of parameter: the first rule that matches a name counts.

    A parameter without a rule keeps the value that its part draws; a rule without a parameter is
    refused.
    """

    rules: tuple[InitRule, ...]

    def fit(self, shapes: ParameterShapes) -> Initializer:
        for rule in self.rules:
            if not any(fnmatchcase(name, rule.parameters) for name in shapes):
                raise UserError(
                    f"no parameter matches {rule.parameters!r}; the model has {', '.join(shapes)}"
                )
        fitted = (replace(rule, initializer=rule.initializer.fit(shapes)) for rule in self.rules)
        return InitByName(rules=tuple(fitted))

    def draw(self, key: jax.Array, name: str, default: jax.Array) -> jax.Array:
        for rule in self.rules:
            if fnmatchcase(name, rule.parameters):
                return rule.initializer.draw(key, name, default)
        return default


def draw_by_gate(initializer: Callable[..., jax.Array], gates: int) -> Callable[..., jax.Array]:
    """Return an initializer that draws each gate's block of a matrix's columns by itself."""

    def draw(key: jax.Array, shape: tuple[int, int]) -> jax.Array:
        block = shape[0], shape[1] // gates
        blocks = jax.vmap(lambda key: initializer(key, block))(jax.random.split(key, gates))
        return jnp.moveaxis(blocks, 0, 1).reshape(shape)

    return draw


def draw_parameters(initializer: Initializer, key: jax.Array, params: Any) -> Any:
    """Draw a model's parameters anew, each with a key of its own.

    Constants and running statistics keep the values that their parts have drawn.
    """
    defaults = flat(params)
    initializer = initializer.fit({name: default.shape for name, default in defaults.items()})
    keys = jax.random.split(key, len(defaults))
    drawn = {
        name: initializer.draw(key, name, default) if kind_of(name).trained else default
        for key, (name, default) in zip(keys, defaults.items(), strict=True)
    }
    return unflat(drawn)
