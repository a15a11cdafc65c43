"""An attention with its variables: as drawn, and as noise has moved them, in the same programs."""

from collections.abc import Callable, Hashable, Iterator
from copy import copy
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import Mask
from attnjax.attention.position import Positions
from attnjax.attention.state.recurrent import RecurrentAttention
from attnjax.config.walk import field_names
from attnjax.lab.checks import recurrence
from attnjax.lab.checks.finding import Problems
from attnjax.lab.checks.noise import NOISE, are_moved_by_noise, noisy, said_of_moved
from attnjax.models.input_widths import Widths

B, S = 2, 5


class Initialized:
    """An attention with its variables, and queries, keys and values [B, S, any].

    Attributes:
        deviation: of the noise on its parameters; 0: they are as drawn.
    """

    deviation = 0.0

    def __init__(self, attention: AttentionBase, widths: Widths) -> None:
        self.attention, self.widths = attention, widths
        # those with noise on their parameters share them
        self.programs: dict[Hashable, Any] = {}
        self.inputs = self.drawn(B, S)
        init: Any = jax.jit(partial(attention.init, deterministic=True))
        self.variables = jax.device_get(init(first_key(), *self.inputs))
        self.call: Any = jax.jit(partial(attention.apply, deterministic=True))

    @cached_property
    def moved(self) -> "Initialized | None":
        """The same attention with noise on its parameters; None: it has none."""
        if not are_moved_by_noise(self.variables):
            return None
        moved = copy(self)
        moved.deviation, moved.variables = NOISE, noisy(self.variables, NOISE)
        return moved

    def recurrences(self) -> list[recurrence.PreparedRecurrence]:
        """Return the recurrences within the attention, with inputs and programs of their own."""
        if "recurrences" not in self.programs:
            inputs = self.drawn(B, recurrence.LENGTH)
            self.programs["recurrences"] = [
                recurrence.PreparedRecurrence(part, first_key(), inputs)
                for part in parts_of(self.attention, RecurrentAttention)
            ]
        return [part.moved_by(self.deviation) for part in self.programs["recurrences"]]

    def drawn(self, examples: int, length: int) -> tuple[np.ndarray, ...]:
        """Return random queries, keys and values."""
        shapes = tuple((examples, length, width) for width in self.widths)
        return jax.device_get(_drawn(shapes))

    def context(self, *inputs: Any, **options: Any) -> jax.Array:
        """Return the context of inputs, a mask and positions."""
        return self.call(self.variables, *inputs, **options)

    def compiled(self, name: Hashable, function: Callable[..., Any], **how: Any) -> Any:
        """Return the program of this name, compiled once for all variables."""
        if name not in self.programs:
            self.programs[name] = jax.jit(function, **how)
        return self.programs[name]

    def slopes(
        self, inputs: Any, mask: Mask, positions: Positions | None = None, row: int | None = None
    ) -> Any:
        """Return the gradients of the sum of one or all rows of contexts, and all contexts."""

        def slopes(variables: Any, inputs: Any, mask: Mask, options: Any) -> Any:
            def total(inputs: Any) -> tuple[jax.Array, jax.Array]:
                context = self.call(variables, *inputs, mask, **options)
                summed = context if row is None else context[:, row]
                return summed.sum(), context

            return jax.grad(total, has_aux=True)(inputs)

        options = {} if positions is None else {"positions": positions}
        program = self.compiled(("slopes", row), slopes)
        return jax.device_get(program(self.variables, inputs, mask, options))


def at_both(problems: Callable[[Initialized], Problems]) -> Callable[[Initialized], Problems]:
    """Look at an attention as it is drawn, and then with noise on its parameters."""

    def of_both(of: Initialized) -> Problems:
        yield from problems(of)
        if of.moved is not None:
            yield from said_of_moved(problems(of.moved))

    return of_both


def first_key() -> jax.Array:
    """Return the key of all that is drawn."""
    return jax.random.key(0)


@partial(jax.jit, static_argnums=0)
def _drawn(shapes: tuple[tuple[int, ...], ...]) -> tuple[jax.Array, ...]:
    """Return random numbers in each of the shapes."""
    keys = jax.random.split(first_key(), len(shapes))
    return tuple(jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True))


@partial(jax.jit, static_argnums=0)
def normal(shape: tuple[int, ...]) -> jax.Array:
    """Return random numbers of the key itself."""
    return jax.random.normal(first_key(), shape)


def parts_of(attention: AttentionBase, kind: Any) -> list[Any]:
    """Return the parts of a kind among an attention and its fields, at any depth."""
    return [part for part in _below(attention) if isinstance(part, kind)]


def _below(part: Any) -> Iterator[Any]:
    """Yield a part and all within it; the rules of a mask are in a tuple."""
    yield part
    fields = (getattr(part, name) for name in field_names(type(part)))
    for field in part if isinstance(part, tuple) else fields:
        yield from _below(field)
