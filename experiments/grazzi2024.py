"""Does tracking a parity need negative eigenvalues?  Grazzi et al. 2024, in small.

Of a string of 0s and 1s the state needs one bit, and a 1 turns it round. A linear recurrence whose
matrices have eigenvalues from 0 to 1 cannot do that at every length (theorem 1); the delta rule's
matrix I - b k k^T has the eigenvalue 1 - b along k, which is -1 at b = 2. Grazzi et al. train on
lengths 3 to 40, with the label at the last symbol, and test on 40 to 256 (Table 2): recurrences
with negative eigenvalues, and one that is not linear, sLSTM, learn parity; the others, Mamba with
decays from 0 to 1, and a Transformer do not.

The lengths are theirs, of the test every twelfth beyond 40; strings are drawn anew for every
update. A shape, not the paper's setting: two layers of width 32 with two heads, there two of 128
with four; 3,000 updates with 64 strings, there 20,000 with 256; no convolution of a few symbols
before a recurrence; Mamba is Mamba-2's state-space layer; the LSTM is the usual one. All have the
same rate. The Transformer has rotary positions, the recurrences none.

Looked at before, with seed 900: the delta rule with b to 2 fits its lengths after 200 updates.

Came out: the delta rule with b to 2 answers all strings of its lengths and 92 in 100 beyond. The
others, the LSTM too, are at chance at their own lengths after 3,000 updates, so that their results
beyond say nothing about eigenvalues and are not judged; that condition was added after looking. At
lengths to 16, in `arena_confirmed`, the LSTM learns the parity.

    attnjax run grazzi2024    # 50 minutes
"""

from attnjax.attention import (
    Attention,
    AttentionBase,
    DecayedState,
    DeltaRule,
    MultiHead,
    NoPosition,
    Rotary,
    ScaledDot,
    WordDecay,
)
from attnjax.data import Batching, Parity
from attnjax.evaluation import LabelAccuracy
from attnjax.experiment import Ablation, Claim, Difference, Experiment, SeedShare, Value, vary
from attnjax.models import DecoderLayer, FeedForward, Labeler, RecurrentCellMixer
from attnjax.nn import RMSNorm
from attnjax.training import Adam, Cosine, LabelEntropy, Training

STEPS, STRINGS = 3_000, 64


def layer(mixer: AttentionBase) -> DecoderLayer:
    """Return a layer with this in the place of its self-attention."""
    return DecoderLayer(
        self_attention=mixer, cross_attention=None, feed_forward=FeedForward(width=64)
    )


delta_2 = MultiHead(heads=2, head=DeltaRule(largest_strength=2.0), context_norm=RMSNorm())
base = Experiment(
    task=Parity(
        train=STEPS * STRINGS,
        test=2_000,
        asked="last",
        shortest=3,
        longest=40,
        test_longest=256,
        test_every=12,
    ),
    model=Labeler(width=32, num_layers=2, layer=layer(delta_2), position=NoPosition()),
    objective=LabelEntropy(),
    optimizer=Adam(schedule=Cosine(peak=4e-3, warmup=100, decay=STEPS - 100), clip=1.0),
    training=Training(
        steps=STEPS,
        batching=Batching(max_tokens=STRINGS * 40, batch_size=STRINGS, shapes=1),
    ),
    measures=(LabelAccuracy(longest=40),),
)
mixer = "model.layer.self_attention"
beyond, seen = "label_accuracy_beyond", "label_accuracy"
fails = {
    "delta_1": "the delta rule with b to 1",
    "mamba": "a state-space layer with decays from 0 to 1",
    "softmax": "softmax attention",
}

ablation = Ablation(
    base=base,
    variants={
        "delta_2": base,
        "delta_1": vary(base, {f"{mixer}.head.largest_strength": 1.0}),
        "mamba": vary(base, {f"{mixer}.head": DecayedState(decay=WordDecay(discretized=True))}),
        "softmax": vary(
            base, {mixer: MultiHead(heads=2, head=Attention(score=Rotary(score=ScaledDot())))}
        ),
        "lstm": vary(base, {mixer: RecurrentCellMixer()}),
    },
    seeds=5,
    first_seed=41,
    claims=(
        Claim(
            text="with b to 2 the delta rule reaches 0.99 beyond the trained length",
            estimand=SeedShare(beyond, "delta_2", least=0.99),
            low=0.4,
            kind="reduced",
            source="Grazzi et al. 2024, theorem 1, Table 2",
        ),
        Claim(
            text="an LSTM reaches 0.99 there, too",
            estimand=SeedShare(beyond, "lstm", least=0.99),
            low=0.4,
            kind="reduced",
            source="Grazzi et al. 2024, Table 2, there sLSTM",
        ),
        *(
            Claim(
                text=f"{name} stays near chance beyond the trained length",
                estimand=Value(beyond, variant),
                low=0.4,
                high=0.6,
                given=Value(seen, variant) >= 0.95,
                kind="reduced",
                source="Grazzi et al. 2024, Table 2",
                bound="chance, 0.5, and 0.1 to both sides, set by us",
            )
            for variant, name in fails.items()
        ),
        Claim(
            text="b to 2 is worth at least 30 points",
            estimand=Difference(beyond, better="delta_2", worse="delta_1"),
            low=0.3,
            kind="reduced",
            source="Grazzi et al. 2024, Table 2",
        ),
    ),
)
