"""Which layer learns a parity in six updates?  The tests' arena."""

from attnjax.attention import Attention, MultiHead, NoPosition, Rotary
from attnjax.data import Batching, Parity
from attnjax.evaluation import LabelAccuracy, StateSize
from attnjax.experiment import Ablation, Crossing, Experiment, crossed
from attnjax.models import DecoderLayer, FeedForward, Labeler, RecurrentCellMixer
from attnjax.training import Adam, Constant, LabelEntropy, Training

softmax = Experiment(
    task=Parity(longest=4, test_longest=8, test_every=4, train=48, valid=16, test=16),
    model=Labeler(
        width=8,
        num_layers=1,
        layer=DecoderLayer(
            self_attention=MultiHead(heads=2, head=Attention(score=Rotary())),
            cross_attention=None,
            feed_forward=FeedForward(width=8),
        ),
        position=NoPosition(),
    ),
    objective=LabelEntropy(),
    optimizer=Adam(schedule=Constant(value=1e-2)),
    training=Training(
        steps=6, batching=Batching(max_tokens=40, batch_size=8, shapes=1, batch_size_multiple=1)
    ),
    measures=(LabelAccuracy(longest=5), StateSize()),
)
rows = {"softmax": {}, "lstm": {"model.layer.self_attention": RecurrentCellMixer()}}
ablation = Ablation(
    base=softmax,
    variants=crossed({"parity": softmax}, rows),
    seeds=3,
    crossing=Crossing(
        rows=tuple(rows), columns={"parity": ("label_accuracy", "label_accuracy_beyond")}
    ),
)
