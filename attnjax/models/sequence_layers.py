"""Layers over one sequence with which Vaswani et al. 2017 compare an encoder's self-attention."""

from abc import abstractmethod
from dataclasses import field

import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Mixer
from attnjax.attention.mask import MaskLike, Padding, as_mask
from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.models.rnn_cells import LSTM, Cell
from attnjax.models.rnn_encoder import RNNLayer
from attnjax.models.shapes import Embedded, Present


class SequenceLayer(Mixer):
    """A mixer of whole sequences that leaves out their padding, and refuses any other mask."""

    @abstractmethod
    def mix(self, x: Embedded, present: Present) -> Embedded:
        """Mix the sequences; their padding has no effect on their words."""

    def __call__(
        self, query: Embedded, /, *, mask: MaskLike = None, deterministic: bool
    ) -> Embedded:
        present = jnp.ones(query.shape[:-1], bool)
        for rule in as_mask(mask, query).rules():
            if not isinstance(rule, Padding):
                raise UserError(
                    f"{type(self).__name__} can leave out padding, and honors no other mask; got "
                    f"{type(rule).__name__}"
                )
            present = present & rule.present
        return self.mix(query, present)


class Convolution(SequenceLayer):
    """y_t = b + sum_i W_i x_{t + dilation (i - (k-1)/2)}, i = 0, ..., k-1; x is 0 beyond the ends.

    Padding is read as 0.

    Attributes:
        kernel_width: k.
        dilation: the distance between the positions that are summed. In a stack in which it grows
            as ((k+1)/2)^l, l = 0, 1, ..., all positions meet after O(log_k S) layers; if it grew as
            k^l, paths would lead over the ends.

    Source: Vaswani et al. 2017, section 4 and Table 1; Kalchbrenner et al. 2016 (dilated).
    """

    kernel_width: PositiveInt = 3
    dilation: PositiveInt = 1

    @nn.compact
    def mix(self, x: Embedded, present: Present) -> Embedded:
        x = jnp.where(present[..., None], x, jnp.zeros((), x.dtype))
        convolution = nn.Conv(
            x.shape[-1],
            (self.kernel_width,),
            kernel_dilation=self.dilation,
            kernel_init=nn.initializers.glorot_uniform(),
            name="convolution",
        )
        return convolution(x)


class Recurrence(SequenceLayer):
    """[h_t forward; h_t backward]: a recurrent cell over the sequence in both directions.

    The state of each is half as wide as the sequence, whose width must be even.

    Source: Schuster & Paliwal 1997; Vaswani et al. 2017, section 4 and Table 1.
    """

    cell: Cell = field(default_factory=LSTM)

    @nn.compact
    def mix(self, x: Embedded, present: Present) -> Embedded:
        half, odd = divmod(x.shape[-1], 2)
        if odd:
            raise UserError(f"Recurrence wants an even width; got {x.shape[-1]}")
        forward = RNNLayer(cell=self.cell, width=half, name="forward")
        backward = RNNLayer(cell=self.cell, width=half, direction="backward", name="backward")
        return jnp.concatenate([forward(x, present)[0], backward(x, present)[0]], axis=-1)
