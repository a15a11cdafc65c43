"""What does word order carry?  A network without positions, and texts without order.

Self-attention without positions is permutation equivariant: it sees a set of words (Shaw et al.
2018, section 1, says so of the Transformer). So it can know no more than what a network with
positions learns of texts whose words are shuffled, and the two should end alike.

Dates as people write them in two languages, to yyyy-mm-dd, character by character: which digits
stand together is order. What a question asks for (TREC, six classes), by self-attention and a
learned vector before the question: most of it is which words there are. Only the sources are
shuffled; without positions a decoder still knows, by causality, how much it has written.

That a network without positions is as good as one without order holds by construction, of the same
parameters. 500 questions tell differences of 4 points, not of 2.

    attnjax run permutation    # ATTNJAX_DATA names the folder that trec is in
    attnjax run permutation --variant dates_ordered --variant dates_set --variant dates_shuffled
"""

from functools import partial

from attnjax.attention import MultiHead, NoPosition
from attnjax.data import Batching, Dates, Shuffled, SplitWords, Trec
from attnjax.decoding import Greedy, Label
from attnjax.experiment import Ablation, Claim, Difference, Experiment, vary
from attnjax.models import (
    Classifier,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    SelfAttentionEncoder,
    Transformer,
)
from attnjax.training import Adam, CrossEntropy, InverseSquareRoot, Training

heads, feed_forward = MultiHead(heads=4), FeedForward(width=128)
layer = EncoderLayer(self_attention=heads, feed_forward=feed_forward)
dates_task, trec_task = Dates(locales="en,de", formats="long;medium"), Trec(vocabulary=SplitWords())
dates = Experiment(
    task=dates_task,
    model=Transformer(
        width=32,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=layer,
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
        dropout=0.0,
    ),
    optimizer=Adam(schedule=InverseSquareRoot(peak=0.007, warmup=100)),
    training=Training(steps=400, batching=Batching(max_tokens=1_024, shapes=2)),
    search=Greedy(),
)
trec = Experiment(
    task=trec_task,
    model=Classifier(
        width=64,
        encoder=SelfAttentionEncoder(num_layers=1, layer=layer),
        attention=None,
        dropout=0.3,
    ),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=InverseSquareRoot(peak=0.003, warmup=100)),
    training=Training(steps=300, average=2, batching=Batching(max_tokens=2_048, shapes=4)),
    search=Label(),
)
gain = partial(Difference, "exact_match")

ablation = Ablation(
    base=dates,
    variants={
        "dates_ordered": dates,
        "dates_set": vary(dates, {"model.position": NoPosition()}),
        "dates_shuffled": vary(dates, {"task": Shuffled(task=dates_task)}),
        "trec_ordered": trec,
        "trec_set": vary(trec, {"model.encoder.position": NoPosition()}),
        "trec_shuffled": vary(trec, {"task": Shuffled(task=trec_task)}),
    },
    seeds=5,
    first_seed=10,
    claims=(
        Claim(
            text="dates: order carries at least half of the answers",
            estimand=gain("dates_ordered", "dates_set"),
            low=0.5,
        ),
        Claim(
            text="dates: without positions is as good as without order",
            estimand=gain("dates_set", "dates_shuffled"),
            low=-0.05,
            high=0.05,
        ),
        Claim(
            text="questions: order carries less than 5 points",
            estimand=gain("trec_ordered", "trec_set"),
            high=0.05,
        ),
        Claim(
            text="questions: without positions is as good as without order",
            estimand=gain("trec_set", "trec_shuffled"),
            low=-0.04,
            high=0.04,
        ),
    ),
)
