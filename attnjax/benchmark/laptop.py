"""Training steps of models that take minutes on a laptop: a step is tens of small products."""

from attnjax.attention.multihead import MultiHead
from attnjax.attention.position import Learned
from attnjax.benchmark.train import batch, prepare, updates
from attnjax.benchmark.workload import Prepared
from attnjax.data.batch_plan import Batch
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, PreNorm
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant

GPT_ROWS, GPT_LENGTH, CHARACTERS = 12, 64, 69
COPY_ROWS, COPY_LENGTH, SYMBOLS = 28, 9, 24


def gpt() -> Prepared:
    """An update of the model that nanoGPT's README trains on a CPU: 4 layers of 128, AdamW."""
    layer = DecoderLayer(
        self_attention=MultiHead(heads=4, bias=True),
        cross_attention=None,
        feed_forward=FeedForward(width=512, activation="gelu_tanh"),
    )
    model = LanguageModel(
        vocabulary=CHARACTERS,
        width=128,
        num_layers=4,
        layer=layer,
        position=Learned(max_length=GPT_LENGTH),
        dropout=0.0,
    )
    words = batch(GPT_ROWS, 1 + GPT_LENGTH, vocabulary=CHARACTERS).target
    adam = Adam(schedule=Constant(value=1e-3), b2=0.99, epsilon=1e-8, weight_decay=0.1, clip=1.0)
    return prepare(model, Batch(words[:, :1], words[:, 1:]), 0.0, optimizer=adam)


def copying() -> Prepared:
    """An update of a model of `make ablation`: one decoder layer of 32 on the embedded source."""
    head = MultiHead(heads=1)
    layer = DecoderLayer(
        self_attention=head, cross_attention=head, feed_forward=FeedForward(width=64)
    )
    model = Transformer(
        vocabulary=SYMBOLS,
        width=32,
        num_encoder_layers=0,
        num_decoder_layers=1,
        decoder_layer=layer,
        residual=PreNorm(),
        dropout=0.0,
    )
    return prepare(model, batch(COPY_ROWS, COPY_LENGTH, vocabulary=SYMBOLS), 0.0)


WORKLOADS = (
    updates("laptop-gpt", gpt, ["torch_gpt.py"], GPT_ROWS * GPT_LENGTH),
    updates("laptop-copy", copying, ["torch_copy.py"], COPY_ROWS * COPY_LENGTH),
)
