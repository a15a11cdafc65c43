"""Can a state of constant size recall what a softmax looks up?  Arora et al. 2023, Figure 2.

No records as of now: its 15 runs take some seven hours of a core, by their FLOPs.
Pairs of a key and a value, then each key once more, at which its value is asked
(`MultiQueryRecall`). In the paper's figure attention solves the task at any width, and the others
only if they are wide enough. Here at the smallest width of the figure, 64: softmax, linear
attention with the features elu + 1 and the delta rule, each with two layers, one head and learned
positions.

Exact in the data (64 words, 4 pairs, a vocabulary of 8,192, 100,000 + 3,000 examples, the gaps), in
the width, the tied embedding, the dropout of 0.1 and in the updates: AdamW with decay 0.1, batches
of 512. Reduced in their number, 16 epochs under a cosine instead of 64 that end at 0.99, and to one
of the paper's four rates, 2.2e-3. What differs: a layer has no feed-forward network here, and gives
back the normalized state there; the paper's other mixers have four layers and no positions, and
none of them is elu + 1 or the delta rule, so that Figure 2, whose bars have no digits, says of them
only what their kind does. Nothing of this was looked at before; of 128 words instead of 8,192, in
16 words, we knew that softmax learns in 500 updates and elu + 1 does not.

The setting `longer` has the figure's second length, 128 words with 8 pairs; `paper` all 64 epochs
and all four rates.

    attnjax run arora2023
    attnjax run arora2023 --setting longer
"""

from attnjax.attention import Attention, DeltaRule, Learned, LinearAttention, MultiHead
from attnjax.data import Batching, MultiQueryRecall
from attnjax.evaluation import LabelAccuracy
from attnjax.experiment import Ablation, Claim, Difference, Experiment, Setting, Value, vary
from attnjax.models import DecoderLayer, Labeler, NoFeedForward
from attnjax.nn import RMSNorm
from attnjax.training import Adam, Cosine, LabelEntropy, Training

EPOCH = -(-100_000 // 512)
"""Updates of an epoch."""


def trained(epochs: int, words: int) -> dict:
    """Return the settings of a training of so many epochs on sources of so many words."""
    return {
        "optimizer.schedule.decay": epochs * EPOCH,
        "training": Training(
            steps=epochs * EPOCH,
            batching=Batching(max_tokens=512 * words, batch_size=512, shapes=1),
        ),
    }


softmax = vary(
    Experiment(
        task=MultiQueryRecall(train=100_000, valid=1_000, test=3_000),
        model=Labeler(
            width=64,
            num_layers=2,
            embeddings="tied",
            layer=DecoderLayer(
                self_attention=MultiHead(heads=1, bias=True, head=Attention(dropout=0.1)),
                cross_attention=None,
                feed_forward=NoFeedForward(),
                dropout=0.0,
            ),
            position=Learned(max_length=128),
            dropout=0.1,
        ),
        objective=LabelEntropy(),
        optimizer=Adam(
            schedule=Cosine(peak=2.2e-3, warmup=1), b2=0.999, epsilon=1e-8, weight_decay=0.1
        ),
        measures=(LabelAccuracy(),),
    ),
    trained(16, 64),
)
head, accuracy = "model.layer.self_attention.head", "label_accuracy"
learnt = Value(accuracy, "softmax") >= 0.99

claims = (
    Claim(
        text="softmax of width 64 recalls",
        estimand=Value(accuracy, "softmax"),
        low=0.99,
        kind="reduced",
        source="Arora et al. 2023, Figure 2",
    ),
    Claim(
        text="elu + 1 of the same width is behind",
        estimand=Difference(accuracy, better="softmax", worse="elu"),
        low=0.1,
        given=learnt,
        kind="reduced",
        source="Arora et al. 2023, Figure 2, of other mixers with a constant state",
    ),
    Claim(
        text="the delta rule is ahead of elu + 1",
        estimand=Difference(accuracy, better="delta", worse="elu"),
        low=0.1,
        given=learnt,
    ),
)

ablation = Ablation(
    base=softmax,
    variants={
        "softmax": softmax,
        "elu": vary(softmax, {head: LinearAttention()}),
        "delta": vary(
            softmax,
            {head: DeltaRule(), "model.layer.self_attention.context_norm": RMSNorm()},
        ),
    },
    seeds=5,
    first_seed=1,
    claims=claims,
    settings={
        "longer": Setting(
            changes={
                "task.pairs": 8,
                "task.shortest": 128,
                "task.longest": 128,
                **trained(16, 128),
            },
            claims=claims,
        ),
        "paper": Setting(
            changes=trained(64, 64),
            claims=claims,
            tune={"optimizer.schedule.peak": (1e-4, 4.6e-4, 2.2e-3, 1e-2)},
            differs={
                "updates": ("64 epochs, or until 0.99", "64 epochs, a cosine"),
                "layers": ("with a feed-forward network", "without, the normalized state back"),
                "others": ("mixers of four layers without positions", "elu + 1, the delta rule"),
            },
        ),
    },
)
