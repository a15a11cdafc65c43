"""A language model from a text of the user's own to a continued prompt, by the commands alone."""

import io
import json
import math
import sys
from pathlib import Path

import pytest

from attnjax.decoding.sample import Sample
from attnjax.lab.cli.main import main
from attnjax.lab.trained.evaluate import evaluate
from attnjax.lab.trained.trained_run import open_trained
from tests.cli.saying import sentence

EXPERIMENT = '''
"""Which letter comes next?  Nobody 2026."""
from attnjax.attention import Learned, MultiHead
from attnjax.data import Batching, RawText
from attnjax.decoding import Sample
from attnjax.evaluation import Perplexity, UpdatesTo
from attnjax.experiment import Ablation, Claim, Experiment, Value
from attnjax.models import DecoderLayer, FeedForward, LanguageModel
from attnjax.training import Adam, Constant, CrossEntropy, Training

base = Experiment(
    task=RawText(file="text.txt", length=16, stride=8),
    model=LanguageModel(
        width=16,
        num_layers=1,
        layer=DecoderLayer(
            self_attention=MultiHead(heads=2),
            cross_attention=None,
            feed_forward=FeedForward(width=16),
        ),
        position=Learned(max_length=24),
        dropout=0.0,
    ),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=Constant(value=0.02)),
    training=Training(steps=60, batching=Batching(max_tokens=256, shapes=1)),
    search=Sample(top_k=1),
    measures=(Perplexity(), UpdatesTo(least=0.5)),
)
ablation = Ablation(
    base=base,
    variants={"only": base},
    claims=(Claim(text="It learns.", estimand=Value("bits_per_character", "only"), high=1.0),),
)
'''


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ATTNJAX_DATA", str(tmp_path))
    (tmp_path / "text.txt").write_text("abcdefghij" * 60)
    (tmp_path / "mine.py").write_text(EXPERIMENT)
    return tmp_path / "mine.py"


@pytest.mark.long
def test_train_evaluate_and_continue(file, monkeypatch, capsys):
    runs = file.parent / "runs"
    assert main(["run", str(file), "--runs", str(runs)]) == 0
    folder = runs / "mine" / "only" / "seed-0"
    result = json.loads((folder / "result.json").read_text())
    found = {one["name"]: one["value"] for one in result["metrics"]}
    assert found["bits_per_character"] < 0.2
    assert 1 <= found["perplexity"] < 1.2
    # a measure reads the run's log, after its training and when it is opened
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    first = next(row for row in rows if row["split"] == "valid" and row["accuracy"] >= 0.5)
    assert found["log10_validation_updates"] == pytest.approx(math.log10(first["step"]))
    assert not (folder / "hypotheses.txt").exists()
    assert "bits per character" in (runs / "mine" / "report.html").read_text()

    trained = open_trained(folder)
    assert trained.experiment.search == Sample(top_k=1)
    assert evaluate(trained).metrics == pytest.approx(found, rel=1e-5)
    assert evaluate(trained, split="valid").metrics["bits_per_character"] < 0.2

    def predict(lines: bytes, *options: str) -> list[str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
        capsys.readouterr()
        assert main(["predict", str(folder), *options]) == 0
        return capsys.readouterr().out.splitlines()

    # a prompt of n letters has at most n + 4 more, the last of which is an end that no one sees
    # (each begins as some window does: 16 letters further in a period of 10)
    assert predict(b"bcd\n\nhi\n", "--extra", "4") == ["efghij", "", "jabcd"]
    assert predict(b"jab\n", "--extra", "4", "search:greedy") == ["cdefgh"]
    # no more than the model has positions for
    (long,) = predict(b"bcdefghijabcdef\n", "--extra", "100")
    assert len(long) == 9
    assert long.startswith("g")


def test_what_does_not_fit_a_text_is_refused_before_training(file, capsys):
    run = ["run", str(file), "--runs", str(file.parent / "runs")]
    said = sentence(capsys, *run, "--model.position.max_length", "12")
    assert "the target of sentence 1 of the train split has 16 symbols" in said
    said = sentence(capsys, *run, "metric:exact-match")
    assert "scores answers, and nothing of RawText is decoded" in said
    said = sentence(capsys, *run, "model.layer.cross_attention:multi-head")
    assert "model.layer.cross_attention:none" in said
    assert not (file.parent / "runs").exists()
