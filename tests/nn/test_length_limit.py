"""A user's own part with a limit counts, at any depth; the smallest limit holds."""

import pytest
from flax import linen as nn

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.position import Learned
from attnjax.attention.score.base import Dot, Location
from attnjax.errors import UserError
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.nn.length_limit import LengthLimited, MaxLength, smallest_limit


class Table(Dot, LengthLimited):
    """A score of one's own that says its limit."""

    entries: int = 4

    @nn.nowrap
    def length_limit(self) -> MaxLength:
        return MaxLength(self.entries, "entries")


def test_the_smallest_limit_of_all_parts_holds():
    assert smallest_limit({"a": Dot(), "b": Attention(score=Dot())}) is None
    parts = {"a": Learned(max_length=9), "b": Attention(score=Location(max_length=7))}
    assert smallest_limit(parts) == (7, "b.score.max_length")


def test_ones_own_part_limits_the_side_of_its_keys():
    own = MultiHead(head=Attention(score=Table()))
    over_source = Transformer(encoder_layer=EncoderLayer(self_attention=own))
    assert over_source.max_length("source") == (
        4,
        "model.encoder_layer.self_attention.head.score.entries",
    )
    assert over_source.max_length("target") is None
    over_target = Transformer(decoder_layer=DecoderLayer(self_attention=own))
    assert over_target.max_length("source") is None
    over_target.check_lengths([4], "of the test split", "target")
    with pytest.raises(UserError, match=r"sentence 2 of the test split has 5 .* at most 4 \(model"):
        over_target.check_lengths([4, 5], "of the test split", "target")
