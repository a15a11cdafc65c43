"""Does it help to have read before?  Devlin et al. 2019, sections 3 and 4.

A small BERT learns to fill in hidden words, and is then trained to tell what a question asks for
(TREC, six classes); beside it the same network that begins with random parameters. What it reads
before are the training questions with the sentences of film reviews, without their labels
("prose"), or Shakespeare's verses ("verse"), of which it also learns whether one line follows
another. All of them share one vocabulary, so that only what was read differs. Each seed is pre-
trained on its own. The rate of the fine-tuning was chosen by one seed that begins with random
parameters, 72.0 % right after 200 updates at 0.001 and 79.6 % at 0.003, and not for the others: if
that choice favours any, it is the random ones.

Nothing is claimed. On 13,000 sentences the network fills one hidden word in nine where always the
most frequent piece fills one in twenty, and what the readings gain is uncertain by 7 to 12 points:
some fifty seeds would be wanted for a point. Devlin et al. print no figure of these data.

Came out, of three seeds: 78.7 % right from random parameters, 80.5 after prose (+-1.9) and 78 after
verse (+-4). 10.8 % of the hidden words of prose are filled in, and 10.6 % of those of verse.

    attnjax run bert

Setting paper is BERT-base: 1,000,000 updates on 256 pairs of 512 pieces. It wants the books and the
encyclopedia in bert/sentences.txt, a sentence a line, and bert/vocab.txt of the authors; "verse"
reads Shakespeare there, too. `differs` says what is not the paper's.
"""

from attnjax.data import (
    Batching,
    LearnedFrom,
    MovieReviews,
    SentencePairs,
    SentencePiece,
    Trec,
    Unlabeled,
    WordPiece,
)
from attnjax.decoding import Label
from attnjax.evaluation import MaskedWords
from attnjax.experiment import Ablation, Experiment, Setting, vary
from attnjax.models import BertClassifier, BertEncoder, BertPretraining, bert_layer
from attnjax.training import Adam, CrossEntropy, InverseSquareRoot, MaskedLanguageModel, Training

lines = ("tinyshakespeare/input.txt",)
texts = (Trec(), MovieReviews(), SentencePairs(files=lines))
words = LearnedFrom(vocabulary=SentencePiece(size=4_000), tasks=texts)
bert = BertEncoder(width=64, num_layers=2, layer=bert_layer(heads=4, width=128))

scratch = Experiment(
    task=Trec(vocabulary=words),
    model=BertClassifier(bert=bert),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=InverseSquareRoot(peak=3e-3, warmup=100)),
    training=Training(steps=200, average=2, batching=Batching(max_tokens=2_048, shapes=4)),
    search=Label(),
)
prose = vary(
    scratch,
    {
        "task": Unlabeled(tasks=texts[:2], vocabulary=words),
        "model": BertPretraining(bert=bert),
        "objective": MaskedLanguageModel(),
        "training.steps": 400,
        "training.average": 1,
        "measures": (MaskedWords(),),
    },
)
verse = vary(
    prose,
    {
        "task": SentencePairs(files=lines, vocabulary=words),
        "objective": MaskedLanguageModel(next_sentence=3.0),
    },
)
after_prose, after_verse = (
    vary(scratch, {"initial_parameters_from": f"bert/{read}"}) for read in ("prose", "verse")
)

pairs = SentencePairs(
    files=("bert/sentences.txt",), vocabulary=WordPiece(file="bert/vocab.txt"), test=10_000
)
paper_prose = vary(
    verse,
    {
        "task": pairs,
        "model.bert": BertEncoder(),
        "objective.next_sentence": 0.15 * 512,
        "optimizer.b2": 0.999,
        "optimizer.weight_decay": 0.01,
        "optimizer.schedule": InverseSquareRoot(peak=1e-4, warmup=10_000),
        "training.steps": 1_000_000,
        "training.batching": Batching(max_tokens=256 * 512, batch_size=256, shapes=4),
    },
)
paper = {
    "task.vocabulary": pairs.vocabulary,
    "model.bert": BertEncoder(),
    "optimizer.schedule": InverseSquareRoot(peak=2e-5, warmup=50),
    "optimizer.weight_decay": 0.01,
    "training.steps": 3 * 5_452 // 32,
    "training.batching.batch_size": 32,
}
ablation = Ablation(
    base=scratch,
    variants={
        "prose": prose,
        "verse": verse,
        "scratch": scratch,
        "after_prose": after_prose,
        "after_verse": after_verse,
    },
    seeds=3,
    settings={
        "paper": Setting(
            changes=paper,
            variants={
                "prose": paper_prose,
                "verse": vary(
                    paper_prose, {"task": vary(verse.task, {"vocabulary": pairs.vocabulary})}
                ),
                "after_prose": vary(
                    after_prose, paper | {"initial_parameters_from": "bert-paper/prose"}
                ),
                "after_verse": vary(
                    after_verse, paper | {"initial_parameters_from": "bert-paper/verse"}
                ),
            },
            differs={
                "pairs": ("spans of 512 pieces together", "two single lines, about 50 pieces"),
                "lengths": ("128 pieces first, then 512", "as the lines are"),
                "rate": ("falls in a straight line (A.2)", "as 1/sqrt(step)"),
                "tests": ("GLUE, SQuAD", "TREC, of which the paper prints no figure"),
            },
        )
    },
)
