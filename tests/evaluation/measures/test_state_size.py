"""The numbers that layers keep, against those of their equations."""

import pytest

from attnjax.attention import (
    DeltaRule,
    Forgetting,
    LinearAttention,
    MultiHead,
    WordDecay,
)
from attnjax.attention.attention import Attention
from attnjax.errors import UserError
from attnjax.evaluation import EvalInputs, StateSize
from attnjax.evaluation.measures.state_size import kept_numbers
from attnjax.models import Labeler, LanguageModel, RecurrentCellMixer, Transformer
from attnjax.models.rnn_cells import GRU
from attnjax.models.transformer_layers import DecoderLayer, Interleaved


@pytest.mark.parametrize(
    "attention, wanted",
    [
        # keys and values of a word
        (MultiHead(heads=2), (0, 16)),
        (MultiHead(heads=2, key_heads=1), (0, 8)),
        # a number of each head beside them: the sum of its log gates
        (MultiHead(heads=2, head=Attention(bias=Forgetting())), (0, 18)),
        # K x V of each head
        (MultiHead(heads=2, head=DeltaRule(decay=WordDecay())), (2 * 4 * 4, 0)),
        # and the sum of the keys, with the scale of each feature
        (MultiHead(heads=2, head=LinearAttention()), (2 * (4 * 4 + 4 + 4), 0)),
        (RecurrentCellMixer(), (16, 0)),
        (RecurrentCellMixer(cell=GRU()), (8, 0)),
    ],
)
def test_numbers_are_those_of_the_equations(attention, wanted):
    assert kept_numbers(attention, 8) == wanted


def test_the_mean_is_over_the_layers_of_a_stack():
    def layer(mixer):
        return DecoderLayer(self_attention=mixer, cross_attention=None)

    other = Interleaved(layer=layer(MultiHead(heads=2)), period=3)
    model = Labeler(width=8, num_layers=4, layer=layer(RecurrentCellMixer()), interleaved=other)
    corpus = batching = None
    found = StateSize().at_init(EvalInputs(model, {}, corpus, batching))  # pyright: ignore
    assert {row.key.name: row.value for row in found} == {
        "state_numbers": 3 * 16 / 4,
        "cache_numbers": 16 / 4,
    }


def test_a_model_without_such_a_stack_is_refused():
    StateSize().check(LanguageModel(), None)  # pyright: ignore
    with pytest.raises(UserError, match="a stack of causal layers, .* got Transformer"):
        StateSize().check(Transformer(), None)  # pyright: ignore
