"""Does attention read a sentence better than a mean does?  Zhou et al. 2016.

They classify what attention finds in the states of a bidirectional LSTM. Here its query is the
LSTM's own last states and the score their dot product; Wiegreffe and Pinter 2019 ask whether equal
weights would not do as well, so beside it there is the mean of the states, and the last states
alone, without attention. What a question asks for (TREC, six classes), and whether a sentence of a
film review is positive (MR, one fold of ten). Words have random vectors, as those of Kim's
convolution, whose figures are those of its re-run in harvardnlp/sent-conv-torch: 88.2 % of the
questions, 75.9 % of the reviews (over all ten folds).

Whether attention is better by half a point 500 questions cannot tell: one question is 0.2 points,
and the difference of two networks varies by more than a point with the questions. So equal weights
are claimed to be as good within 4 points of the questions, and within 3 of the 1,066 reviews.

    attnjax run bilstm_attention
"""

from functools import partial

from attnjax.attention import Attention, Dot, Uniform
from attnjax.data import Batching, MovieReviews, SplitWords, Trec
from attnjax.decoding import Label
from attnjax.evaluation import Heatmaps
from attnjax.experiment import Ablation, Claim, Difference, Experiment, Value, figures, vary
from attnjax.models import Classifier, Encoder
from attnjax.training import Adam, Constant, CrossEntropy, Training

words = SplitWords(min_count=2)
trec = Experiment(
    task=Trec(vocabulary=words),
    model=Classifier(width=64, encoder=Encoder(width=64), attention=Attention(score=Dot())),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=Constant(value=5e-3)),
    training=Training(steps=300, average=2, batching=Batching(max_tokens=2_048, shapes=4)),
    search=Label(),
    measures=(Heatmaps(),),
)
mr = vary(trec, {"task": MovieReviews(vocabulary=words)})
mean = {"model.attention.align": Uniform()}

questions, reviews = Value("exact_match", "trec_attention"), Value("exact_match", "mr_attention")
alike = "Wiegreffe and Pinter 2019, Table 2"
gain = partial(Difference, "exact_match")
on_questions, on_reviews = gain("trec_attention", "trec_mean"), gain("mr_attention", "mr_mean")

ablation = Ablation(
    base=trec,
    variants={
        "trec_attention": trec,
        "trec_mean": vary(trec, mean),
        "trec_last": vary(trec, {"model.attention": None, "measures": ()}),
        "mr_attention": mr,
        "mr_mean": vary(mr, mean),
    },
    seeds=5,
    first_seed=10,
    claims=(
        Claim(text="questions: at least 85 % right", estimand=questions, low=0.85),
        Claim(
            text="reviews: at most 2 points below Kim's",
            estimand=reviews,
            low=0.739,
        ),
        Claim(
            text="questions: attention and the mean are alike, within 4 points",
            estimand=on_questions,
            low=-0.04,
            high=0.04,
            kind="reduced",
            source=alike,
        ),
        Claim(
            text="reviews: attention and the mean are alike, within 3 points",
            estimand=on_reviews,
            low=-0.03,
            high=0.03,
            kind="reduced",
            source=alike,
        ),
    ),
    published=figures(
        "Kim 2014, re-run", "sent-conv-torch", "exact_match", {"trec_attention": 0.882}
    )
    + figures(
        "Kim 2014, re-run",
        "sent-conv-torch",
        "exact_match",
        {"mr_attention": 0.759},
        why_not="the mean of ten folds, of which one is here",
    ),
)
