"""A classifier learns from a CSV file of the user's own, and answers with whole labels."""

import html
import io
import sys
from pathlib import Path

from attnjax.lab.cli.main import main
from attnjax.lab.reporting.runs import hypotheses, references

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


CLASS = '''
from dataclasses import dataclass
from attnjax.data.corpus import Example


@dataclass(frozen=True, kw_only=True)
class SeveralLines(LabeledFile):
    """A task whose labels have line breaks."""

    def read(self):
        return tuple(
            [Example(text, f"{label[0]}\\n{label[1:]}\\r") for text, label, _ in split]
            for split in super().read()
        )


'''


def test_an_answer_of_several_lines_is_a_line_of_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATTNJAX_DATA", str(tmp_path))
    written = EXPERIMENT.replace(
        'LabeledFile(folder="reviews", valid=4)', 'SeveralLines(folder="reviews", valid=4)'
    ).replace(
        "experiment = Experiment(",
        CLASS + "experiment = Experiment(",
    )
    (tmp_path / "mine.py").write_text(written.replace("steps=30", "steps=2"))
    (tmp_path / "reviews").mkdir()
    rows = ["good,yes", "bad,no"] * 4
    for name in ("train", "test"):
        lines = ["text,label", *(f"{name} {row}" for row in rows)]
        (tmp_path / "reviews" / f"{name}.csv").write_text("\n".join(lines))
    assert main(["run", str(tmp_path / "mine.py"), "--runs", str(tmp_path / "runs")]) == 0
    (run,) = [path.parent for path in tmp_path.rglob("hypotheses.txt")]
    pairs = references(run) or []
    assert len(pairs) == 8
    assert {*hypotheses(run, 8)} <= {"y es ", "n o "}
    assert {text for _, text in pairs} == {"y\nes\r", "n\no\r"}
    answers = tmp_path / "answers"
    assert main(["evaluate", str(run), "--trust", "--answers", str(answers)]) == 0
    assert answers.read_bytes() == (run / "hypotheses.txt").read_bytes()
    for words, first in (([], ""), (["--n-best", "1"], "1\t")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"good\nbad\n")))
        capsys.readouterr()
        assert main(["predict", str(run), "--trust", *words]) == 0
        said = capsys.readouterr().out
        assert (said.count("\n"), said.count("\r")) == (2, 0)
        assert said.startswith(first)


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
