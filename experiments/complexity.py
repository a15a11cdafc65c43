"""What does a layer cost as its sequence grows?  Vaswani et al. 2017, section 4 and Table 1.

Table 1, for length n, width d, kernel width k and neighborhood r:

                       operations   sequential   maximum path
    self-attention     n^2 d        1            1
    recurrent          n d^2        n            n
    convolutional      k n d^2      1            log_k(n)
    restricted         r n d        1            n / r

Counted, not timed: the exponents with which the matrix products' operations, the longest chain of
operations and the longest path of a gradient grow with n and d, where n is much larger than d; and
the memory of a layer with its gradient. The path of a recurrent layer goes from word to word.
A contiguous convolution wants O(n / k) layers (section 4); the one here is a stack whose dilation
doubles. "blockwise" is self-attention tile by tile, "restricted" the same within a window, "linear"
attention without softmax. Each is also the encoder of a small model that copies; that score is
nobody's claim.

Two claims are about our kernel more than about the paper: it computes the tiles of a window one
after the other, so that the longest chain of "restricted" and "blockwise" grows with n; and most of
the memory of "blockwise" is the tiles', which do not grow.

    attnjax run complexity
"""

from attnjax.attention import Attention, LinearAttention, MultiHead, Window
from attnjax.data import Batching, Copy
from attnjax.decoding import Greedy
from attnjax.evaluation import LayerCost
from attnjax.experiment import Ablation, Claim, Count, Experiment, vary
from attnjax.models import (
    Convolution,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Recurrence,
    Transformer,
)
from attnjax.training import Adam, InverseSquareRoot, Training

heads, feed_forward = MultiHead(heads=2), FeedForward(width=64)
base = Experiment(
    task=Copy(symbols=20, longest=20, train=2_000, valid=100, test=200),
    model=Transformer(
        width=32,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(
            self_attention=MultiHead(heads=2, head=Attention(implementation="dense")),
            feed_forward=feed_forward,
        ),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
        dropout=0.0,
    ),
    optimizer=Adam(schedule=InverseSquareRoot(peak=0.005, warmup=50)),
    training=Training(steps=150, batching=Batching(max_tokens=1_024, shapes=1)),
    search=Greedy(),
    measures=(LayerCost(),),
)

layer, tiles = "model.encoder_layer.self_attention", Attention(implementation="blockwise")
window = Attention(mask=Window(before=16, after=16), implementation="blockwise")
far = LayerCost(path_lengths=(32, 64, 128))
variants = {
    "self_attention": base,
    "blockwise": vary(base, {f"{layer}.head": tiles}),
    "recurrent": vary(base, {layer: Recurrence()}),
    "convolutional": vary(base, {layer: Convolution()}),
    "dilated": vary(
        base, {layer: Convolution(), "measures": (LayerCost(growing=("dilation", 2)),)}
    ),
    "linear": vary(base, {f"{layer}.head": LinearAttention()}),
    "restricted": vary(base, {f"{layer}.head": window, "measures": (far,)}),
}

CONSTANT, LINEAR, SQUARE = (-0.1, 0.1), (0.9, 1.1), (1.8, 2.1)
LOGARITHMIC = (0.1, 0.5)
TABLE_1 = "Vaswani et al. 2017, Table 1"
linear = "Katharopoulos et al. 2020, section 3.2"
columns = (
    (
        *("time_by_length", "operations in n", TABLE_1),
        {
            "self_attention": SQUARE,
            "recurrent": LINEAR,
            "convolutional": LINEAR,
            "restricted": LINEAR,
        },
    ),
    (
        *("time_by_width", "operations in d", TABLE_1),
        {
            "self_attention": LINEAR,
            "recurrent": SQUARE,
            "convolutional": SQUARE,
            "restricted": LINEAR,
        },
    ),
    (
        *("sequential_by_length", "sequential operations in n", TABLE_1),
        {
            "self_attention": CONSTANT,
            "recurrent": LINEAR,
            "convolutional": CONSTANT,
        },
    ),
    ("sequential_by_length", "sequential operations in n", None, {"restricted": CONSTANT}),
    (
        *("path_by_length", "maximum path in n", TABLE_1),
        {
            "self_attention": CONSTANT,
            "recurrent": LINEAR,
            "dilated": LOGARITHMIC,
            "restricted": LINEAR,
        },
    ),
    ("time_by_length", "operations in n", linear, {"linear": LINEAR}),
    ("memory_by_length", "memory in n", linear, {"self_attention": SQUARE, "linear": LINEAR}),
    ("memory_by_length", "memory in n", None, {"blockwise": LINEAR}),
)
ablation = Ablation(
    base=base,
    variants=variants,
    claims=tuple(
        Claim(
            text=f"{name}: {words}",
            estimand=Count(metric, name),
            low=low,
            high=high,
            kind=None if source is None else "reduced",
            source=source,
        )
        for metric, words, source, regions in columns
        for name, (low, high) in regions.items()
    ),
)
