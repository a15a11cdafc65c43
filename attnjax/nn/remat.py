"""Which arrays of a layer are saved for its gradient; the others are computed a second time."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import jax


@dataclass(frozen=True)
class Remat(ABC):
    """Rematerialization: the backward pass recomputes what the forward pass does not save.

    It saves memory, costs time, and changes no result: dropout draws the same in both passes.

    Source: Chen et al. 2016, section 3 (arXiv 1604.06174).
    """

    @property
    @abstractmethod
    def policy(self) -> Callable[..., bool]:
        """Which arrays are saved, besides the layer's inputs: a policy of `jax.checkpoint`."""


@dataclass(frozen=True)
class KeepInputs(Remat):
    """The layer's inputs are saved, and nothing else: a second forward pass of the whole layer."""

    @property
    def policy(self) -> Callable[..., bool]:
        return jax.checkpoint_policies.nothing_saveable


@dataclass(frozen=True)
class KeepProducts(Remat):
    """The layer's products with parameter matrices are saved, too.

    Norms, activations, dropout and the weights of attention are recomputed.
    """

    @property
    def policy(self) -> Callable[..., bool]:
        return jax.checkpoint_policies.dots_with_no_batch_dims_saveable
