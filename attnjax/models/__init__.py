"""Models: recurrent sequence-to-sequence, Transformer, captioner, classifier, kernel regression.

A model is a frozen Linen module, unbound in an experiment. `Model` says what every model is,
`SymbolModel` what training asks for, `SequenceModel` what a search asks for.
"""

from attnjax.models.base import (
    MaskedWordModel as MaskedWordModel,
    Model as Model,
    SymbolModel as SymbolModel,
    logits as logits,
)
from attnjax.models.bert import (
    BertEncoder as BertEncoder,
    BertModel as BertModel,
    bert_layer as bert_layer,
)
from attnjax.models.bert_heads import (
    BertClassifier as BertClassifier,
    BertPretraining as BertPretraining,
    BertTagger as BertTagger,
)
from attnjax.models.captioner import Captioner as Captioner, Convolutions as Convolutions
from attnjax.models.classifier import Classifier as Classifier
from attnjax.models.ensemble import Ensemble as Ensemble
from attnjax.models.feed_forward import (
    ConvolutionFeedForward as ConvolutionFeedForward,
    FeedForward as FeedForward,
    FeedForwardBase as FeedForwardBase,
    GatedFeedForward as GatedFeedForward,
    NoFeedForward as NoFeedForward,
)
from attnjax.models.in_context_regressor import InContextRegressor as InContextRegressor
from attnjax.models.kernel_regression import KernelRegression as KernelRegression
from attnjax.models.labeler import Labeler as Labeler
from attnjax.models.language_model import LanguageModel as LanguageModel
from attnjax.models.recurrent_cell_mixer import RecurrentCellMixer as RecurrentCellMixer
from attnjax.models.rnn_cells import (
    GRU as GRU,
    LSTM as LSTM,
    Cell as Cell,
    Elman as Elman,
    GRUResetBefore as GRUResetBefore,
)
from attnjax.models.rnn_decoders import (
    BahdanauDecoder as BahdanauDecoder,
    Feeding as Feeding,
    InputFeeding as InputFeeding,
    LuongDecoder as LuongDecoder,
    NoInputFeeding as NoInputFeeding,
    RNNDecoder as RNNDecoder,
)
from attnjax.models.rnn_encoder import Encoder as Encoder, EncoderOutput as EncoderOutput
from attnjax.models.self_attention_encoder import SelfAttentionEncoder as SelfAttentionEncoder
from attnjax.models.seq2seq import Seq2Seq as Seq2Seq
from attnjax.models.sequence_layers import (
    Convolution as Convolution,
    Recurrence as Recurrence,
    SequenceLayer as SequenceLayer,
)
from attnjax.models.sequence_model import LabelModel as LabelModel, SequenceModel as SequenceModel
from attnjax.models.sequence_regressor import SequenceRegressor as SequenceRegressor
from attnjax.models.set_classifier import SetClassifier as SetClassifier
from attnjax.models.sown_attention import LayerAttention as LayerAttention
from attnjax.models.text_encoder import EncodedText as EncodedText, TextEncoder as TextEncoder
from attnjax.models.transformer import Transformer as Transformer
from attnjax.models.transformer_layers import (
    DecoderLayer as DecoderLayer,
    EncoderLayer as EncoderLayer,
    NoResidual as NoResidual,
    PostNorm as PostNorm,
    PreNorm as PreNorm,
    Residual as Residual,
)
