"""No run outlives its data: a finished or interrupted run of other texts is named and refused."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from attnjax.lab.cli.main import main
from attnjax.lab.loop.run_state import RunGroup
from attnjax.lab.runs.json_files import read_sealed
from tests.runs.hostile import resealed

EXPERIMENT = '''"""Does it translate numbers?"""
from dataclasses import replace

from attnjax.data import Batching, ParallelText
from attnjax.decoding import Greedy
from attnjax.experiment import Ablation, Experiment
from attnjax.models import Encoder, LuongDecoder, Seq2Seq
from attnjax.training import Adam, Constant, Training

base = Experiment(
    task=ParallelText(folder="texts"),
    model=Seq2Seq(width=8, encoder=Encoder(width=4), decoder=LuongDecoder(width=8)),
    optimizer=Adam(schedule=Constant(value=0.01)),
    training=Training(
        steps=4, batching=Batching(max_tokens=64, shapes=1, batch_size_multiple=1)
    ),
    search=Greedy(),
)
ablation = Ablation(
    base=base,
    variants={"a": base, "b": replace(base, optimizer=Adam(schedule=Constant(value=0.02)))},
    seeds=2,
)
'''


def write_texts(folder: Path) -> None:
    folder.mkdir()
    for split in ("train", "valid", "test"):
        for side, word in (("en", "one"), ("de", "eins")):
            lines = (f"{split} {word} {number}\n" for number in range(12))
            (folder / f"{split}.{side}").write_text("".join(lines))


def reorder(folder: Path, split: str) -> None:
    """Give a split other pairs of the same words."""
    path = folder / "texts" / f"{split}.de"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))


def run(folder: Path, *words: str, runs: str = "runs") -> int:
    return main(["run", str(folder / "digits.py"), *words, "--runs", str(folder / runs)])


def told(capsys, *words: str | Path) -> str:
    """The sentence with which a command refuses."""
    capsys.readouterr()
    assert main([*map(str, words)]) == 2
    (*_, sentence) = capsys.readouterr().err.splitlines()
    return sentence


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """Texts, an experiment file, and two finished runs of its first variant."""
    folder = tmp_path_factory.mktemp("finished")
    write_texts(folder / "texts")
    (folder / "digits.py").write_text(EXPERIMENT)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ATTNJAX_DATA", str(folder))
        assert run(folder, "--variant", "a") == 0
    return folder


@pytest.fixture
def here(finished, tmp_path, monkeypatch) -> Path:
    """A copy of them."""
    monkeypatch.setenv("ATTNJAX_DATA", str(tmp_path))
    return Path(shutil.copytree(finished, tmp_path, dirs_exist_ok=True))


def test_config_has_the_digests_of_what_is_trained_on(here):
    config, result = (
        read_sealed(here / "runs/digits/a/seed-0" / name) for name in ("config.json", "result.json")
    )
    assert config["data"] == {split: result["data"][split] for split in ("train", "valid")}
    assert config["data_of_seed"] is False


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_a_finished_run_of_other_data_is_refused_and_named(here, capsys, split):
    run_folder = here / "runs/digits/a/seed-0"
    before = (run_folder / "result.json").read_bytes()
    reorder(here, split)
    words = ["run", here / "digits.py", "--variant", "a", "--runs", here / "runs"]
    for more in ([], ["--dry-run"], ["--seeds", "3"], ["--training.steps", "6"]):
        sentence = told(capsys, *words, *more)
        assert f"{run_folder} is a run of other data: its {split} split was changed" in sentence
    # another variant would stand in one table with it
    assert "a/seed-0 is a run of other data" in told(
        capsys, *words[:2], "--variant", "b", *words[4:]
    )
    assert (run_folder / "result.json").read_bytes() == before
    assert main(["report", str(here / "runs")]) == 0, "the runs are of the same data"
    reorder(here, split)
    assert run(here, "--variant", "a") == 0
    assert "a: 2 of 2 runs are there already\n" in capsys.readouterr().err


def test_what_reads_the_data_of_a_run_again_notices(here, capsys):
    run_folder = here / "runs/digits/a/seed-0"
    reorder(here, "test")
    before = (run_folder / "attention.json").read_bytes()
    sentence = told(capsys, "report", here / "runs", "--sentences", 6)
    assert "a/seed-0 is a run of other data: its test split was changed" in sentence
    assert (run_folder / "attention.json").read_bytes() == before
    assert main(["evaluate", str(run_folder)]) == 0
    assert f"the test split of {run_folder} was changed" in capsys.readouterr().err
    assert main(["evaluate", str(run_folder), "--split", "valid"]) == 0
    assert "changed" not in capsys.readouterr().err


def test_a_finished_run_whose_data_are_gone_is_there_already(here, capsys):
    shutil.rmtree(here / "texts")
    assert run(here, "--variant", "a") == 0
    shown = capsys.readouterr().err
    assert "a: 2 of 2 runs are there already; their data are not compared: there is no " in shown
    assert "there is no folder texts" in told(
        capsys, "run", here / "digits.py", "--variant", "b", "--runs", here / "runs"
    )


def test_an_interrupted_run_does_not_go_on_with_other_data(here, capsys, monkeypatch):
    batch = RunGroup.batch

    def press(self):
        if self.step == 2:
            monkeypatch.setattr(RunGroup, "batch", batch)
            os.kill(os.getpid(), signal.SIGTERM)
        return batch(self)

    monkeypatch.setattr(RunGroup, "batch", press)
    words = ["--variant", "a", "--seeds", "1"]
    assert run(here, *words, runs="cut") == 75
    run_folder = here / "cut/digits/a/seed-0"
    assert [*read_sealed(run_folder / "config.json")["data"]] == ["train", "valid"]
    for split in ("train", "valid"):
        reorder(here, split)
        sentence = told(capsys, "run", here / "digits.py", *words, "--runs", here / "cut")
        assert f"{run_folder} is a run of other data: its {split} split was changed" in sentence
        reorder(here, split)
    reorder(here, "test")  # which it has not read yet
    assert run(here, *words, runs="cut") == 0


def other_seed(here: Path) -> None:
    """Let the second run be one of other training data, in the same folder."""
    folder = here / "runs/digits/a/seed-1"
    for name in ("config.json", "result.json"):
        data = read_sealed(folder / name)["data"] | {"train": "0" * 16}
        resealed(folder / name, data=data)


@pytest.mark.parametrize("place", ["seed-1", "tied/optimizer.schedule.value=0.02/seed-1"])
def test_runs_of_different_data_are_not_put_together(here, capsys, place):
    """Nor are those at tied values, by which claims are judged too."""
    other_seed(here)
    (here / "runs/digits/a" / place).parent.mkdir(parents=True, exist_ok=True)
    (here / "runs/digits/a/seed-1").rename(here / "runs/digits/a" / place)
    for words in (["report", here / "runs"], ["record", here / "runs", "--to", here / "records"]):
        sentence = told(capsys, *words)
        assert "a/seed-0 and " in sentence
        assert "are runs of one task on other data: their train splits differ" in sentence
    assert not (here / "records").exists()
    runs = [str(here / "runs/digits/a" / name) for name in ("seed-0", place)]
    assert main(["compare", *runs]) == 0
    assert "warning: " in (shown := capsys.readouterr().err)
    assert "are runs of one task on other data: their train splits differ" in shown
