"""Does attention read a sentence better than a mean?  Zhou et al. 2016; Wiegreffe & Pinter 2019.

Zhou et al. classify what attention finds in the states of a bidirectional LSTM, "without using any
features derived from lexical resources"; Wiegreffe and Pinter ask whether weights that are all
alike would not do as well. Here the query is the LSTM's last states and the score their dot
product; beside it the mean of the states, and the last states alone, without any attention. The
kinds of questions (TREC) and the polarity of film reviews (MR, one fold of ten), words with random
vectors; the figures to compare are those of Kim's convolution with random vectors, run again.

    attnjax run bilstm_attention
"""

from functools import partial

from attnjax.attention.align import Uniform
from attnjax.attention.attend import Attention
from attnjax.attention.score import Dot
from attnjax.data.batches import Batching
from attnjax.data.labels import MovieReviews, Trec
from attnjax.data.vocabulary import SplitWords
from attnjax.decoding.label import Label
from attnjax.evaluation.measures import Heatmaps
from attnjax.experiment import Ablation, Claim, Difference, Experiment, Published, Value, vary
from attnjax.models.classifier import Classifier
from attnjax.models.recurrence import Encoder
from attnjax.training.objective import CrossEntropy
from attnjax.training.optimizer import Adam, Constant
from attnjax.training.settings import Training

trec = Experiment(
    task=Trec(vocabulary=SplitWords(minimum=2)),
    model=Classifier(width=64, encoder=Encoder(width=64), attention=Attention(score=Dot())),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=Constant(value=5e-3)),
    training=Training(steps=600, average=3, batching=Batching(tokens=1_024, shapes=4)),
    search=Label(),
    measures=(Heatmaps(),),
)
mr = vary(trec, {"task": MovieReviews(vocabulary=SplitWords(minimum=2))})
mean = {"model.attention.align": Uniform()}
last = {"model.attention": None, "measures": ()}

right = partial(Value, "exact_match")
gain = partial(Difference, "exact_match")
kim = partial(Published, paper="Kim 2014, re-run", metric="exact_match")

ablation = Ablation(
    base=trec,
    variants={
        "trec_attention": trec,
        "trec_mean": vary(trec, mean),
        "trec_last": vary(trec, last),
        "mr_attention": mr,
        "mr_mean": vary(mr, mean),
        "mr_last": vary(mr, last),
    },
    seeds=3,
    claims=(
        Claim(text="TREC: at least 85 %", quantity=right("trec_attention"), low=0.85),
        Claim(text="MR: at least 72 %", quantity=right("mr_attention"), low=0.72),
    ),
)
