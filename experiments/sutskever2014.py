"""Does reading the source backwards help a fixed vector?  Sutskever et al. 2014, section 3.3.

A deep LSTM reads the source into one vector and another writes the target from it. "We found it
extremely valuable to reverse the order of the words of the input sentence": the first words then
stand close to their translation. Test perplexity fell from 5.8 to 4.7, BLEU of one LSTM with a beam
of 12 rose from 26.17 to 30.59 (Table 1).

Here sequences of 4 to 12 symbols are copied, and the reversed variant is an encoder that reads
backward, the end symbol first. In the paper the end stays last: its setting reverses the source.
The claim is about 1,000 updates: how far both would come was not tried, since copying ends at all
right or at none. The perplexity at the plateau, on Multi30k, would take more than an hour.

The paper's setting has the paper's model, initial values, vocabularies, beam, batches of 128
sentences and learning rates; its `differs` says what is not the paper's.

    attnjax run sutskever2014
    attnjax run sutskever2014 --setting paper    # WMT 2014 English-French, through TFDS
"""

from attnjax.data import Batching, Copy, MosesWords, Reversed, Translation
from attnjax.decoding import Beam, NoPenalty
from attnjax.evaluation import Perplexity
from attnjax.experiment import (
    Ablation,
    Claim,
    Difference,
    Experiment,
    Setting,
    figures,
    gains,
    vary,
)
from attnjax.models import Encoder, LuongDecoder, Seq2Seq
from attnjax.nn import UniformInit
from attnjax.training import Adam, Constant, CrossEntropy, GradientDescent, Halving, Training

base = Experiment(
    task=Copy(symbols=10, shortest=4, longest=12),
    model=Seq2Seq(
        width=32,
        encoder=Encoder(width=96, direction="forward"),
        decoder=LuongDecoder(attention=None, width=96),
        dropout=0.0,
    ),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=Constant(value=3e-3), clip=1.0),
    training=Training(steps=1_000, batching=Batching(max_tokens=1_024, shapes=3)),
    search=Beam(size=2, length_penalty=NoPenalty()),
)
paper = {
    "task": Translation(
        name="wmt14_translate/fr-en",
        source="en",
        target="fr",
        train="train[:12000000]",
        vocabulary=MosesWords(language="en", max_size=160_000),
        target_vocabulary=MosesWords(language="fr", max_size=80_000),
        max_length=400,
    ),
    "model.initializer": UniformInit(scale=0.08),
    "model.width": 1000,
    "model.encoder.width": 1000,
    "model.decoder.width": 1000,
    "model.**.layers": 4,
    "search.size": 12,
    "measures": (Perplexity(),),
    # of 93,750 updates an epoch: 5 epochs, then half the rate every half epoch, 7.5 in all
    "optimizer": GradientDescent(
        schedule=Halving(value=0.7 * 30, after=468_750, every=46_875), clip=5 / 30
    ),
    "training": Training(steps=703_125, batching=Batching(max_tokens=12_928, batch_size=128)),
}
reversed_source = {"task.source_order": Reversed()}
helps = {"reversed beats forward": ("reversed", "forward")}
section = "Sutskever et al. 2014, section 3.3"
text = '"the test BLEU scores of its decoded translations increased from 25.9 to 30.6"'

ablation = Ablation(
    base=base,
    variants={"forward": base, "reversed": vary(base, {"model.encoder.direction": "backward"})},
    seeds=5,
    first_seed=10,
    claims=gains("exact_match", helps, low=0.02, kind="stand-in", source=section, quote=text),
    settings={
        "paper": Setting(
            changes=paper,
            variants={"reversed": vary(base, paper | reversed_source)},
            claims=(
                *gains("bleu", helps, low=0.5, kind="setting", source=section, quote=text),
                Claim(
                    text="reversed has a lower perplexity, by 0.5",
                    estimand=Difference("perplexity", better="reversed", worse="forward"),
                    high=-0.5,
                    kind="setting",
                    source=section,
                    quote='"from 5.8 to 4.7"',
                ),
            ),
            published=figures(
                "Sutskever et al. 2014", "Table 1", "bleu", {"forward": 26.17, "reversed": 30.59}
            )
            + figures(
                "Sutskever et al. 2014",
                "section 3.3",
                "perplexity",
                {"forward": 5.8, "reversed": 4.7},
            ),
            differs={
                "pairs": ("12 million that were selected (3.1)", "12 million drawn by chance"),
                "long pairs": ("all", "those of over 400 words are left out"),
                "loss": (
                    "a mean over sentences; rate 0.7, norm 5",
                    "over words: by 30 larger, smaller",
                ),
                "networks and beams": ("1, 2 and 5; 1, 2 and 12 (Table 1)", "1 network; 12"),
            },
        )
    },
)
