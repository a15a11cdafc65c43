"""Do recurrent networks generalize to longer commands?  Lake and Baroni 2018, experiments 1 and 2.

No records as of now: 15 runs, some hours on two cores, are still to be trained. SCAN's commands
("jump around left twice") ask for up to 48 actions. A network that is trained on commands of all
lengths answers new ones nearly perfectly (99.8 % at best, 99.7 % their overall best network, two
layers of 200 LSTM units, dropout 0.5, no attention); one that is trained on at most 22 actions and
asked for more does not (20.8 % at best, a GRU of 50 units with attention; the overall best network
13.8 %).

Five seeds, as there, that answer all commands say no more of other seeds than at least 0.951, so
0.95 is claimed where the paper has 0.997. Batches of commands shorten the training here. The
paper's setting trains as the paper does: on 100,000 single commands, half of them under teacher
forcing.

Came out, of the paper's setting: 97.5 % of new commands, 92.1 to 99.8 in five seeds, so that 0.95
is undecided; 14.3 % of longer ones, where the paper has 13.8, and no verdict, as networks that have
99 % of the new commands were asked for. The last weights are what is scored, and an update of one
command at a constant rate moves them: the seed with 92.1 % had a loss of 0.0016 on the validation
commands 2,632 updates before the end, and 0.046 at the end; trained once more with
`--training.result best`, equal in every logged loss, it has 99.3 %. Minutes above 25 count pauses
and other work.

    attnjax run scan --task.folder path/to/SCAN    # a checkout of github.com/brendenlake/SCAN
    attnjax run scan --variant simple --task.split addprim_jump    # any of its splits
    attnjax run scan --setting paper
"""

from dataclasses import replace

from attnjax.data import Batching, Scan
from attnjax.decoding import Greedy
from attnjax.experiment import Ablation, Claim, Experiment, Setting, Value, figures, vary
from attnjax.models import GRU, BahdanauDecoder, Encoder, LuongDecoder, Seq2Seq
from attnjax.training import Adam, Constant, CrossEntropy, TeacherForcing, Training

overall_best = Seq2Seq(
    width=200,
    encoder=Encoder(width=200, layers=2, direction="forward"),
    decoder=LuongDecoder(attention=None, width=200, layers=2),
    dropout=0.5,
)
with_attention = Seq2Seq(
    width=50,
    encoder=Encoder(cell=GRU(), width=50, direction="forward"),
    decoder=BahdanauDecoder(cell=GRU(), width=50, maxout=50),
    dropout=0.5,
)
base = Experiment(
    task=Scan(),
    model=overall_best,
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=Constant(value=1e-3), b2=0.999, epsilon=1e-8, clip=5.0),
    training=Training(steps=6_000, average=4, batching=Batching(max_tokens=1_024, shapes=6)),
    search=Greedy(),
)
longer = vary(base, {"task.split": "length", "training.steps": 2_500})
paper = {
    "objective": TeacherForcing(probability=0.5),
    "training": Training(
        steps=100_000, batching=Batching(max_tokens=64, batch_size=1, batch_size_multiple=1)
    ),
}
simple, length = Value("exact_match", "simple"), Value("exact_match", "length")

claims = (
    Claim(
        text="simple: nearly all commands right",
        estimand=simple,
        low=0.95,
        kind="figure",
        source="Lake and Baroni 2018, Experiment 1, best network overall",
        quote="99.7 %",
    ),
    Claim(
        text="longer commands: few are right",
        estimand=length,
        low=0.10,
        high=0.25,
        given=simple >= 0.99,
        kind="figure",
        source="Lake and Baroni 2018, Experiment 2, best network overall",
        quote="13.8 %",
    ),
)

ablation = Ablation(
    base=base,
    variants={
        "simple": base,
        "length": longer,
        "length_attention": vary(longer, {"model": with_attention}),
    },
    seeds=5,
    first_seed=10,
    claims=tuple(replace(claim, kind="reduced") for claim in claims),
    published=figures("Lake and Baroni 2018", "Experiment 1", "exact_match", {"simple": 0.997})
    + figures(
        "Lake and Baroni 2018",
        "Experiment 2",
        "exact_match",
        {"length": 0.138, "length_attention": 0.208},
    ),
    settings={
        "paper": Setting(
            changes=paper,
            claims=claims,
            differs={"commands": ("drawn with replacement", "each once an epoch")},
        )
    },
)
