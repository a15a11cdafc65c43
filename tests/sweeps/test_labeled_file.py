"""A classifier learns from a CSV file of the user's own, and answers with whole labels."""

import html
import io
import sys
from pathlib import Path

from attnjax.cli.main import main

EXPERIMENT = '''
"""Which label?  Nobody 2026."""
from attnjax.data.batching import Batching
from attnjax.data.corpora.labeled_file import LabeledFile
from attnjax.decoding.label import Label
from attnjax.experiment import Experiment
from attnjax.models.classifier import Classifier
from attnjax.models.rnn_encoder import Encoder
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Training

experiment = Experiment(
    task=LabeledFile(folder="reviews", valid=4),
    model=Classifier(width=8, encoder=Encoder(width=8), dropout=0.0),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=Constant(value=0.05)),
    training=Training(
        steps=30, batching=Batching(max_tokens=64, shapes=1, batch_size_multiple=1)
    ),
    search=Label(),
)
'''


def test_train_and_predict(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATTNJAX_DATA", str(tmp_path))
    (tmp_path / "mine.py").write_text(EXPERIMENT)
    (tmp_path / "reviews").mkdir()
    rows = ['"good indeed",very good', "bad,very bad"] * 8
    (tmp_path / "reviews" / "train.csv").write_text("\n".join(["text,label", *rows]))
    (tmp_path / "reviews" / "test.csv").write_text(
        "text,label\nbad,very bad\ngood indeed,very good\nodd,neither\n"
    )
    runs = tmp_path / "runs"
    assert main(["run", str(tmp_path / "mine.py"), "--runs", str(runs)]) == 0
    said = capsys.readouterr()
    (page,) = runs.rglob("report.html")
    for note in (
        "data: 1 of 3 test examples have the label 'neither'",
        "data: 2 of 3 test sources are in the training split too: ",
    ):
        assert note in said.err
        assert note in said.out
        assert note in html.unescape(page.read_text())
    (folder,) = [path.parent for path in Path(runs).rglob("hypotheses.txt")]
    answers = (folder / "hypotheses.txt").read_text().splitlines()
    assert answers[:2] == ["very bad", "very good"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"good indeed\nbad\n")))
    assert main(["predict", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == ["very good", "very bad"]
