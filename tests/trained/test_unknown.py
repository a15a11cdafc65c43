"""`attnjax run`, `evaluate` and `predict` with words that no vocabulary has, in seconds."""

import io
import json
import sys
from pathlib import Path

import pytest

from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.sentence_stats import read
from attnjax.lab.cli.main import main
from attnjax.lab.runs.result import read_result

pytestmark = pytest.mark.long

EXPERIMENT = '''
"""Do unknown words come over?"""

from attnjax.attention.heads.multihead import MultiHead
from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import TabSeparated
from attnjax.data.vocabulary import SplitWords
from attnjax.decoding.greedy import Greedy
from attnjax.evaluation.measures.by_length import ByLength
from attnjax.evaluation.unknown_words import CopyUnknown
from attnjax.experiment import Ablation, Claim, Experiment, LengthGain
from attnjax.models.feed_forward import FeedForward
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.models.transformer import Transformer
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Training
from attnjax.config.vary import vary

heads, feed_forward = MultiHead(heads=1), FeedForward(width=16)
copying = Experiment(
    task=TabSeparated(folder="{folder}", valid=None, vocabulary=SplitWords(min_count=3)),
    model=Transformer(
        width=16,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
    ),
    optimizer=Adam(schedule=Constant(value=1e-2)),
    training=Training(steps=15, batching=Batching(max_tokens=80, shapes=1, batch_size_multiple=1)),
    search=Greedy(),
    measures=(ByLength(parts=2),),
    unknown=CopyUnknown(),
)
ablation = Ablation(
    base=copying,
    variants={{"copying": copying, "keeping": vary(copying, {{"unknown": None}})}},
    claims=(
        Claim(
            text="It gains with length.",
            estimand=LengthGain(metric="bleu", better="copying", worse="keeping", parts=2),
            low=0.0,
        ),
    ),
)
'''


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Return sentences of "a" and of names that occur once."""
    folder = tmp_path_factory.mktemp("unknown")
    for split, count in (("train", 16), ("test", 6)):
        lines = [f"a {' '.join(f'{split}{n}{m}' for m in range(3 + n % 2))}" for n in range(count)]
        (folder / f"{split}.tsv").write_text("".join(f"{line}\t{line}\n" for line in lines))
    (folder / "names.py").write_text(EXPERIMENT.format(folder=folder).lstrip("\n"))
    assert main(["run", str(folder / "names.py"), "--runs", str(folder)]) == 0
    return folder / "names"


def content(path: Path) -> dict:
    return json.loads(path.read_text())


def measured(run: Path) -> dict[MetricKey, float]:
    found = map(Measurement.of, read_result(run).metrics)
    return {one.key: one.value for one in found}


def test_the_answers_have_the_names_and_the_result_both_scores(runs):
    copying, keeping = (runs / name / "seed-0" for name in ("copying", "keeping"))
    kept = (keeping / "hypotheses.txt").read_text()
    assert "<unknown>" in kept, "nothing is left to replace"
    copied = (copying / "hypotheses.txt").read_text()
    assert "<unknown>" not in copied
    for line in copied.splitlines():
        assert set(line.split()) <= {"a", *(f"test{n}{m}" for n in range(6) for m in range(4))}
    # the same training: only the words differ
    metrics, before = map(measured, (copying, keeping))
    replaced = MetricKey("bleu_before_replacement")
    assert metrics[replaced] == before[MetricKey("bleu")]
    assert replaced not in before
    assert {MetricKey("bleu", part=(1, 2)), MetricKey("bleu", part=(2, 2))} <= metrics.keys()


def test_the_sentences_give_the_score_again(runs):
    run = runs / "copying" / "seed-0"
    kept = read(run)
    assert kept is not None
    assert kept.lengths is not None
    assert kept.lengths.tolist() == [4, 5] * 3
    assert kept.value() == pytest.approx(measured(run)[MetricKey("bleu")])


def test_the_claim_over_sentences_is_in_the_summary_and_the_report(runs, capsys):
    (claim,) = content(runs / "summary.json")["claims"]
    assert claim["basis"] == "seeds and sentences"
    # one seed decides nothing
    assert (claim["verdict"], claim["reason"]) == ("undecided", "fewer than 3 seeds")
    assert main(["report", str(runs)]) == 0
    assert "95 % over seeds and sentences" in capsys.readouterr().out
    text = (runs / "report.html").read_text()
    assert "By source length" in text
    (again,) = content(runs / "summary.json")["claims"]
    assert again == claim


def test_evaluate_and_predict_replace_too(runs, capsys, monkeypatch):
    run = runs / "copying" / "seed-0"
    assert main(["evaluate", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bleu"] == pytest.approx(measured(run)[MetricKey("bleu")])
    asked = "a Rex Struppi Waldi\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(asked.encode())))
    assert main(["predict", str(run)]) == 0
    answer = capsys.readouterr().out.split()
    assert answer
    assert set(answer) <= set(asked.split())
