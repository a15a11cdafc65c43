"""Models: recurrent sequence-to-sequence, Transformer, captioner, classifier, kernel regression.

A model is a frozen Linen module, unbound in an experiment. `Model` says what every model is,
`SymbolModel` what training asks for, `SequenceModel` what a search asks for.
"""

from attnjax.models.base import LabelModel, Model, SequenceModel, SymbolModel, logits
from attnjax.models.bert import BertEncoder, BertModel, bert_layer
from attnjax.models.bert_heads import BertClassifier, BertPretraining, BertTagger
from attnjax.models.captioner import Captioner, Convolutions
from attnjax.models.classifier import Classifier
from attnjax.models.ensemble import Ensemble
from attnjax.models.feed_forward import (
    ConvolutionFeedForward,
    FeedForward,
    FeedForwardBase,
    GatedFeedForward,
)
from attnjax.models.kernel_regression import KernelRegression
from attnjax.models.language_model import LanguageModel
from attnjax.models.masked_words import MaskedWordModel
from attnjax.models.rnn_cells import GRU, LSTM, Cell, Elman, GRUResetBefore
from attnjax.models.rnn_decoders import (
    BahdanauDecoder,
    Feeding,
    InputFeeding,
    LuongDecoder,
    NoInputFeeding,
    RNNDecoder,
)
from attnjax.models.rnn_encoder import Encoder, EncoderOutput
from attnjax.models.self_attention_encoder import SelfAttentionEncoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.sequence_layers import Convolution, Recurrence, SequenceLayer
from attnjax.models.sown_attention import LayerAttention
from attnjax.models.text_encoder import EncodedText, TextEncoder
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
    PostNorm,
    PreNorm,
    Residual,
)

__all__ = [
    "GRU",
    "LSTM",
    "BahdanauDecoder",
    "BertClassifier",
    "BertEncoder",
    "BertModel",
    "BertPretraining",
    "BertTagger",
    "Captioner",
    "Cell",
    "Classifier",
    "Convolution",
    "ConvolutionFeedForward",
    "Convolutions",
    "DecoderLayer",
    "Elman",
    "EncodedText",
    "Encoder",
    "EncoderLayer",
    "EncoderOutput",
    "Ensemble",
    "FeedForward",
    "FeedForwardBase",
    "Feeding",
    "GRUResetBefore",
    "GatedFeedForward",
    "InputFeeding",
    "KernelRegression",
    "LabelModel",
    "LanguageModel",
    "LayerAttention",
    "LuongDecoder",
    "MaskedWordModel",
    "Model",
    "NoInputFeeding",
    "PostNorm",
    "PreNorm",
    "RNNDecoder",
    "Recurrence",
    "Residual",
    "SelfAttentionEncoder",
    "Seq2Seq",
    "SequenceLayer",
    "SequenceModel",
    "SymbolModel",
    "TextEncoder",
    "Transformer",
    "bert_layer",
    "logits",
]
