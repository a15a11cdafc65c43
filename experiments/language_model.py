"""Does a language model have to be told where a word stands?  Haviv et al. 2022.

A Transformer without positions sees a set of words; but if each word sees only those before it, it
can tell how many there are. So, Haviv et al. find, language models without positions are "still
competitive with standard models" (abstract). Here a decoder-only Transformer, GPT's arrangement,
predicts each character of tiny Shakespeare (1.1 million; the last tenth is the test split) from the
65 to 128 characters before it: with learned positions, and with none. Before that there is a
question of our own: is so small a model, trained in minutes on two cores, a language model at all?
We ask for 2.45 bits a character.

The setting nanogpt is that of github.com/karpathy/nanoGPT, train_shakespeare_char, whose best
validation loss, on the same tenth, is 1.4697 nats, 2.12 bits. What differs: there a row begins at
any character; here windows begin every 256 characters.

    attnjax run language_model    # ATTNJAX_DATA names what tinyshakespeare is in
    attnjax run language_model --setting nanogpt --variant learned --seeds 1
    echo "ROMEO:" | attnjax predict runs/language_model/learned/seed-0 --extra 300
"""

import math

from attnjax.attention import Learned, MultiHead, NoPosition
from attnjax.data import Batching, Characters, RawText
from attnjax.decoding import Sample
from attnjax.evaluation import Perplexity
from attnjax.experiment import (
    Ablation,
    Claim,
    Difference,
    Experiment,
    Setting,
    Value,
    figures,
    vary,
)
from attnjax.models import DecoderLayer, FeedForward, LanguageModel
from attnjax.training import Adam, Cosine, CrossEntropy, Training


def layer(heads: int, width: int) -> DecoderLayer:
    """A layer of GPT-2, of so many heads, and with a feed-forward network of so many units."""
    return DecoderLayer(
        self_attention=MultiHead(heads=heads, bias=True),
        cross_attention=None,
        feed_forward=FeedForward(width=width, activation="gelu_tanh"),
    )


base = Experiment(
    task=RawText(vocabulary=Characters(), length=128, stride=64),
    model=LanguageModel(
        width=128, num_layers=4, layer=layer(4, 512), position=Learned(max_length=256), dropout=0.0
    ),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(
        schedule=Cosine(peak=2e-3, warmup=200, decay=3_800), b2=0.99, epsilon=1e-8, clip=1.0
    ),
    training=Training(steps=4_000, batching=Batching(max_tokens=2_048, shapes=1)),
    search=Sample(temperature=0.8, top_k=40),
    measures=(Perplexity(),),
)
nanogpt = {
    "task.length": 256,
    "task.stride": 128,
    "model.width": 384,
    "model.num_layers": 6,
    "model.layer": layer(6, 4 * 384),
    "model.dropout": 0.2,
    "optimizer.schedule": Cosine(peak=1e-3, warmup=100, decay=4_900),
    "optimizer.weight_decay": 0.1,
    "training": Training(steps=5_000, batching=Batching(max_tokens=64 * 256, shapes=1)),
}
bits = "bits_per_character"

ablation = Ablation(
    base=base,
    variants={"learned": base, "no_position": vary(base, {"model.position": NoPosition()})},
    seeds=3,
    claims=(
        Claim(
            text="at most 2.45 bits a character",
            estimand=Value(bits, "learned"),
            high=2.45,
        ),
        Claim(
            text="without positions at most 0.1 bits worse",
            estimand=Difference(bits, better="learned", worse="no_position"),
            low=-0.1,
            source='Haviv et al. 2022, abstract: "still competitive"; 0.1 bits is set by us',
        ),
    ),
    settings={
        "nanogpt": Setting(
            changes=nanogpt,
            published=figures("nanoGPT", "README", bits, {"learned": 1.4697 / math.log(2)}),
        )
    },
)
