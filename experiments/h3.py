"""Who finds what came after a prefix, and the value of a key?  Fu et al. 2022 (H3), Table 1.

Findings: attention recalls every value, and 95 % of what followed a prefix; 45 of 60 runs, four
hours of a core, are still to be trained.
What followed the prefix the first time (`InductionHead`), and which value has a key in a dictionary
that each text makes anew (`DictionaryRecall`)? The paper's attention solves both, its state-space
layers without gates do not. Zhang et al. 2024 (Hedgehog, Table 2) train recall, too: 100.0 with
softmax and with Taylor features, 17.0 with the features elu + 1. Their task's sizes were not read,
so their claims are put to this recall. That one layer of attention cannot find what followed a
prefix is an argument of Olsson et al. 2022.

Exact as far as the authors' program says it (github.com/HazyResearch/safari, experiment
synthetics): 5,000 fixed examples, 400 epochs of batches of 32 (recall 200), 2 layers of width 32
with one head and a feed-forward network of 128, learned positions, dropout 0.1 of embeddings and of
softmax's weights, AdamW with 5e-4, decay 0.1, a tenth of warm-up, the loss over all words, the
accuracy of the last one. What differs: the test split is not the validation split, every seed draws
examples of its own, and the cosine, here to 0, is cut off where the rate is a tenth. S4D, GSS and
H3 itself are not here; an LSTM, retention and the delta rule, ours, stand beside attention. States
are not equal: elu + 1, retention and the delta rule keep about 32 x 32 numbers a layer, Taylor
features 1,057 x 33, an LSTM 64.

Looked at before, with seed 100: attention at recall, which is right in half of the cases for the
first 93 of 200 epochs, and in all after 98; at induction it had learnt nothing after 63 of 400.

    attnjax run h3
"""

from attnjax.attention import (
    Attention,
    DecayedState,
    DeltaRule,
    HeadDecay,
    Learned,
    LinearAttention,
    MultiHead,
    SignedLinearAttention,
)
from attnjax.data import Batching, DictionaryRecall, InductionHead
from attnjax.evaluation import LabelAccuracy
from attnjax.experiment import Ablation, Claim, Difference, Experiment, Value, figures, vary
from attnjax.models import DecoderLayer, FeedForward, Labeler, RecurrentCellMixer
from attnjax.nn import RMSNorm
from attnjax.training import Adam, Cosine, LabelEntropy, Training

EPOCH = -(-5_000 // 32)
"""Updates of an epoch."""


def trained(epochs: int, words: int) -> dict:
    """Return the settings of a training of so many epochs on sources of so many words."""
    updates, warmup = epochs * EPOCH, epochs * EPOCH // 10
    # 0.795 of a cosine's way down the rate is a tenth of the peak
    decay = round((updates - warmup) / 0.795)
    return {
        "optimizer.schedule": Cosine(peak=5e-4, warmup=warmup, decay=decay),
        "training": Training(
            steps=updates, batching=Batching(max_tokens=32 * words, batch_size=32, shapes=1)
        ),
    }


induction = vary(
    Experiment(
        task=InductionHead(train=5_000, valid=500, test=500),
        model=Labeler(
            width=32,
            num_layers=2,
            embeddings="tied",
            layer=DecoderLayer(
                self_attention=MultiHead(heads=1, bias=True, head=Attention(dropout=0.1)),
                cross_attention=None,
                feed_forward=FeedForward(width=128, activation="gelu_tanh"),
                dropout=0.0,
            ),
            position=Learned(max_length=31),
            dropout=0.1,
        ),
        objective=LabelEntropy(),
        optimizer=Adam(b2=0.999, epsilon=1e-8, weight_decay=0.1),
        measures=(LabelAccuracy(),),
    ),
    trained(400, 31),
)
task = DictionaryRecall(train=5_000, valid=500, test=500)
recall = vary(induction, {"task": task, **trained(200, 22)})

mixer = "model.layer.self_attention"
normed = {f"{mixer}.context_norm": RMSNorm()}
mixers = {
    "attention": {},
    "elu": {f"{mixer}.head": LinearAttention()},
    # retention and the delta rule normalize the context of each head, as in their models
    "retention": {f"{mixer}.head": DecayedState(decay=HeadDecay()), **normed},
    "delta": {f"{mixer}.head": DeltaRule(), **normed},
    "lstm": {mixer: RecurrentCellMixer()},
}
accuracy = "label_accuracy"
published = {"induction_attention": 1.0, "recall_attention": 1.0}


def solved(text: str, task: str) -> Claim:
    """Return the claim that attention solves a task: five perfect seeds say at least 0.951."""
    of, place = Value(accuracy, f"{task}_attention"), "Fu et al. 2022, Table 1"
    return Claim(text=text, estimand=of, low=0.94, kind="figure", source=place, quote="100.0")


def ahead(text: str, better: str, worse: str, low: float, **options) -> Claim:
    """Return the claim that one variant is ahead of another, of networks that have learnt."""
    kind = "stand-in" if "source" in options else None
    learnt = Value(accuracy, f"{better.partition('_')[0]}_attention") >= 0.97
    estimand = Difference(accuracy, better=better, worse=worse)
    return Claim(text=text, estimand=estimand, low=low, given=learnt, kind=kind, **options)


ablation = Ablation(
    base=induction,
    variants={
        **{f"induction_{name}": vary(induction, changes) for name, changes in mixers.items()},
        "induction_one_layer": vary(induction, {"model.num_layers": 1}),
        **{f"recall_{name}": vary(recall, changes) for name, changes in mixers.items()},
        "recall_taylor": vary(recall, {f"{mixer}.head": SignedLinearAttention()}),
    },
    seeds=5,
    first_seed=1,
    claims=(
        solved("attention finds what followed the prefix", "induction"),
        solved("attention finds the value of a key", "recall"),
        ahead(
            "two layers find what followed the prefix, one does not",
            *("induction_attention", "induction_one_layer", 0.3),
            source="Olsson et al. 2022, argument",
        ),
        ahead(
            "recall: softmax is ahead of elu + 1",
            *("recall_attention", "recall_elu", 0.5),
            source="Zhang et al. 2024, Table 2",
            quote="100.0 and 17.0",
        ),
        ahead(
            "recall: Taylor features are as good as softmax",
            *("recall_taylor", "recall_attention", -0.05),
            high=0.05,
            source="Zhang et al. 2024, Table 2",
            quote="100.0 and 100.0",
        ),
        ahead("induction: softmax is, too", "induction_attention", "induction_elu", 0.3),
        ahead("recall: delta rule ahead of retention", "recall_delta", "recall_retention", 0.05),
    ),
    published=figures("Fu et al. 2022", "Table 1", accuracy, published),
)
