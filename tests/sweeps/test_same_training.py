"""Variants that differ only in what comes after the training are trained once."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import attnjax
from attnjax.config.serialize import OWN, parse_json
from attnjax.config.vary import vary
from attnjax.decoding.beam import Beam
from attnjax.experiment.experiment import training_of
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.runs import same_training
from attnjax.lab.runs.json_files import write_sealed
from attnjax.lab.runs.lease import leased
from attnjax.lab.runs.manifest import CONFIG, read
from attnjax.lab.runs.same_training import copy_same_training
from attnjax.training.settings import Scoring

DECODED = """
from dataclasses import replace
import attnjax
from attnjax.config.vary import vary
from attnjax.decoding.beam import Beam

tiny = attnjax.load({tiny!r}).ablation
base = tiny.base
ablation = replace(
    tiny,
    variants={{
        "beam": vary(base, {{"search": Beam(size=3), "measures": ()}}),
        "greedy": base,
        "longer": vary(base, {{"training.steps": 8}}),
    }},
    claims=(),
    published=(),
    settings={{}},
)
"""
TINY = Path(__file__).parents[1] / "tiny.py"
FILES = "metrics.jsonl", "checkpoints"


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """An experiment with two variants of one training, and a third of more updates."""
    path = tmp_path_factory.mktemp("file") / "decoded.py"
    path.write_text(DECODED.format(tiny=str(TINY)))
    return path


@pytest.fixture(scope="module")
def apart(file, tmp_path_factory) -> Path:
    """The runs of the variants, each trained in a folder of its own."""
    runs = tmp_path_factory.mktemp("apart")
    assert main(["run", str(file), "--variant", "greedy", "--runs", str(runs / "greedy")]) == 0
    assert main(["run", str(file), "--variant", "beam", "--runs", str(runs / "beam")]) == 0
    return runs


@pytest.fixture
def beam(apart, tmp_path) -> Path:
    """The folder of all runs, with those of "beam" trained."""
    shutil.copytree(apart / "beam/decoded", tmp_path / "runs/decoded")
    return tmp_path / "runs"


def content(run: Path, name: str) -> dict[str, bytes]:
    files = [run / name] if (run / name).is_file() else sorted((run / name).rglob("*"))
    return {str(path.relative_to(run)): path.read_bytes() for path in files if path.is_file()}


def run(file: Path, runs: Path, *more: str) -> int:
    return main(["run", str(file), "--variant", "greedy", "--runs", str(runs), *more])


def numbers(run: Path) -> list:
    return parse_json((run / "result.json").read_text())["metrics"]


def test_a_training_is_copied(file, apart, beam, capsys):
    assert run(file, beam) == 0
    assert "greedy: copies the training of beam, which is the same" in capsys.readouterr().err
    for seed in ("seed-0", "seed-1"):
        ours, theirs = beam / "decoded/greedy" / seed, beam / "decoded/beam" / seed
        for name in FILES:
            assert content(ours, name) == content(theirs, name) != {}
        assert numbers(ours) == numbers(apart / "greedy/decoded/greedy" / seed)
        boards = ({path.name for path in run.glob("events*")} for run in (ours, theirs))
        assert next(boards) > next(boards)  # TensorBoard shows the copy's curves
        assert not (ours / "checkpoints.copied").exists()


def test_a_copy_goes_on_as_a_training_of_its_own(file, beam, tmp_path):
    assert run(file, beam) == 0
    assert run(file, beam, "--variant", "beam", "--training.steps", "8") == 0
    assert run(file, tmp_path / "alone", "--training.steps", "8") == 0
    for seed in ("seed-0", "seed-1"):
        place = Path("decoded/greedy") / seed
        assert numbers(beam / place) == numbers(tmp_path / "alone" / place)


def begun(beam: Path, apart: Path, **changed) -> list[Path]:
    """Return runs of "greedy" beside those of "beam", before their first step."""
    variant = beam / "decoded/greedy"
    of_training = shutil.ignore_patterns("checkpoints", "result.json", "metrics.jsonl", "events*")
    for seed in ("seed-0", "seed-1"):
        trained = apart / "greedy/decoded/greedy" / seed
        shutil.copytree(trained, variant / seed, ignore=of_training)
        manifest = replace(read(trained), **changed)
        write_sealed(variant / seed / CONFIG, asdict(manifest))
    return [variant / "seed-0", variant / "seed-1"]


def copied(runs: list[Path]) -> bool:
    variant = runs[0].parent
    return copy_same_training(runs, variant, [variant.parent / "beam"]) is not None


def with_setting(apart: Path, part: str, **fields) -> dict:
    """Return the settings of "greedy" with other fields of a part."""
    settings = read(apart / "greedy/decoded/greedy/seed-0").settings
    return {**settings, part: {**settings[part], **fields}}


def test_a_run_that_has_not_begun_is_copied(apart, beam):
    assert copied(begun(beam, apart))
    assert not copied([beam / "decoded/greedy/seed-0", beam / "decoded/greedy/seed-1"])  # again


def test_trainings_of_a_tuning_are_copied_too(file, tmp_path, capsys):
    rates = '"optimizer.schedule.value": (1e-3, 1e-2)'
    tuned = f"claims=(), seeds=1, tune_seeds=1, tune={{{rates}}},"
    path = tmp_path / "tuned.py"
    path.write_text(file.read_text().replace("claims=(),", tuned))
    chosen = ["--variant", "beam", "--variant", "greedy"]
    assert main(["run", str(path), *chosen, "--runs", str(tmp_path / "runs")]) == 0
    told = capsys.readouterr().err
    assert "(variant 2 of 2), tuning: copies the training of beam" in told
    assert "(variant 2 of 2): copies the training of beam" in told


@pytest.mark.parametrize(
    "changed",
    [{"seed": 7}, {"together": ("seed-0",)}, {"data": {"train": "x"}}, {"vocabulary": "x"}],
)
def test_other_seeds_groups_and_data_are_not_copied(apart, beam, changed):
    assert not copied(begun(beam, apart, **changed))


@pytest.mark.parametrize("text", [{}, {"text": "another"}, {"imported": {"own.py": "another"}}])
def test_parts_of_the_users_own_must_have_the_same_text(apart, beam, text):
    own = with_setting(apart, "search", type=f"{OWN}Search")
    assert copied(begun(beam, apart, settings=own, **text)) == (not text)


@pytest.mark.parametrize(
    ("part", "fields"),
    [("training", {"steps": 7}), ("model", {"dropout": 0.3}), ("training", {"scoring": {}})],
)
def test_other_settings_are_not_copied(apart, beam, part, fields):
    assert not copied(begun(beam, apart, settings=with_setting(apart, part, **fields)))


def test_a_training_that_scores_depends_on_its_search(apart, beam):
    scoring = {**read(apart / "greedy/decoded/greedy/seed-0").settings["training"], "scoring": {}}
    for seed in ("seed-0", "seed-1"):
        other = read(beam / "decoded/beam" / seed)
        settings = {**other.settings, "training": scoring}
        content = asdict(replace(other, settings=settings))
        write_sealed(beam / "decoded/beam" / seed / CONFIG, content)
    assert not copied(begun(beam, apart, settings=with_setting(apart, "training", **scoring)))


@pytest.mark.parametrize("name", ["result.json", "config.json", "metrics.jsonl", "checkpoints"])
def test_what_is_damaged_is_not_copied(apart, beam, name):
    broken = beam / "decoded/beam/seed-1" / name
    for path in (broken, *broken.rglob("*")):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert not copied(begun(beam, apart))


def test_nor_is_a_run_that_lacks_a_checkpoint(apart, beam):
    shutil.rmtree(beam / "decoded/beam/seed-0/checkpoints")
    assert not copied(begun(beam, apart))


@pytest.mark.parametrize("name", ["versions", "machine", "sources"])
def test_nor_is_a_run_of_another_machine_or_program(apart, beam, monkeypatch, name):
    another = SimpleNamespace(numbers="another")
    monkeypatch.setattr(same_training, name, lambda: another)
    assert not copied(begun(beam, apart))


def test_nor_is_a_run_that_a_process_holds(apart, beam):
    runs = begun(beam, apart)
    with leased([beam / "decoded/beam/seed-1"]):
        assert not copied(runs)
    assert copied(runs)


def test_a_group_of_which_a_kill_left_a_part_begins_again(file, apart, beam):
    runs = begun(beam, apart)
    assert copied(runs)
    shutil.rmtree(runs[1] / "checkpoints")
    assert run(file, beam) == 0
    for each in runs:
        assert numbers(each) == numbers(apart / "greedy/decoded/greedy" / each.name)


def test_a_killed_copy_is_made_again(file, apart, beam, capsys, monkeypatch):
    made = []

    def copy_one(source: Path, folder: Path) -> Path:
        if made:
            raise KeyboardInterrupt
        made.append(folder)
        return copy(source, folder)

    copy = same_training._copy
    with monkeypatch.context() as patched:
        patched.setattr(same_training, "_copy", copy_one)
        with pytest.raises(KeyboardInterrupt):
            attnjax.run(str(file), variants=("greedy",), runs=str(beam))
    assert (made[0] / "checkpoints.copied").exists()
    assert run(file, beam) == 0
    assert "copies the training" in capsys.readouterr().err
    for seed in ("seed-0", "seed-1"):
        place = Path("decoded/greedy") / seed
        assert numbers(beam / place) == numbers(apart / "greedy" / place)


def test_variants_of_one_training():
    base = load(TINY).ablation.base
    assert training_of(vary(base, {"search": Beam(), "measures": ()})) == training_of(base)
    assert training_of(vary(base, {"training.steps": 9})) != training_of(base)
    scored = vary(base, {"training.scoring": Scoring()})
    assert training_of(vary(scored, {"search": Beam()})) != training_of(scored)
    assert training_of(vary(scored, {"search": scored.search})) == training_of(scored)
