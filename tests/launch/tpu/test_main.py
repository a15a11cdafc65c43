"""`python -m launch.tpu`: what `gcloud` is told."""

import sys
import tarfile
from pathlib import Path

import pytest

from launch.tpu import __main__ as tpu
from tests.launch import golden

TINY = str(Path(__file__).parents[2] / "tiny.py")
SITE = str(Path(__file__).parents[3] / "launch" / "sites" / "tpu.toml")
DELETE_OPTIONS = ("--project=my-project", "--zone=us-west4-a", "--force", "--quiet")
QUEUED = ("gcloud", "compute", "tpus", "queued-resources")
WORDS = (TINY, "--site", SITE, "--on", "v5e:2x4", "--variant", "scaled")


@pytest.fixture(autouse=True)
def rehearsal(recorder, monkeypatch) -> None:
    """The interpreter that rehearses is a stand-in, and `follow` does not wait."""
    recorder.stand_in("gcloud", "python")
    monkeypatch.setattr(sys, "executable", str(recorder.programs / "python"))
    monkeypatch.setattr(tpu, "SECONDS_BETWEEN_LOOKS", 0)


@pytest.fixture
def launched(tmp_path, recorder) -> Path:
    """The folder of an experiment whose slice was asked for."""
    assert tpu.program([*WORDS, "--runs", str(tmp_path), "--yes"]) == 0
    return tmp_path / "tiny"


def refused(capsys, *words: str) -> str:
    capsys.readouterr()
    assert tpu.program(list(words)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


def test_a_dry_run_prints_the_commands_and_the_script(recorder, tmp_path, capsys):
    file, runs = golden.experiment(tmp_path), tmp_path / "runs"
    words = [file, *WORDS[1:], "--runs", str(runs), "--dry-run", "--training.steps", "9"]
    assert tpu.program(words) == 0
    golden.same("tpu.txt", capsys.readouterr().out, runs=runs, file=file)
    assert not recorder.calls
    assert not runs.exists()


def test_it_rehearses_sends_the_code_and_asks_for_the_slice(launched, recorder):
    rehearsed, sent, asked = (call.words for call in recorder.calls)
    assert rehearsed == [
        *("python", "-m", "attnjax", "rehearse", TINY, "--on", "v5e:2x4", "--variant", "scaled")
    ]
    assert sent == [
        *("gcloud", "storage", "cp", f"{launched}/tpu/code.tar.gz"),
        "gs://my-bucket/attnjax/slices/attnjax-tiny/",
    ]
    assert asked[:6] == [*QUEUED, "create", "attnjax-tiny"]
    assert {"--accelerator-type=v5litepod-8", "--runtime-version=v2-alpha-tpuv5-lite"} <= {*asked}
    assert f"--metadata-from-file=startup-script={launched}/tpu/start.sh" in asked


def test_the_code_has_the_package_the_experiment_and_the_changes(launched):
    with tarfile.open(launched / "tpu" / "code.tar.gz") as packed:
        names = packed.getnames()
        file = packed.extractfile("shipped/tiny.py")
        assert file is not None
        assert file.read() == Path(TINY).read_bytes()
    wanted = {"attnjax/__main__.py", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"}
    assert wanted | {"changes.patch"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.startswith(".")]
    assert (
        "run shipped/tiny.py --runs runs --variant scaled"
        in (launched / "tpu" / "start.sh").read_text()
    )


def test_nothing_is_asked_for_where_the_step_does_not_fit(recorder, tmp_path, capsys):
    recorder.answer("python", code=1)
    said = refused(capsys, *WORDS, "--runs", str(tmp_path), "--yes")
    assert said == "attnjax: the training step cannot run on v5e:2x4: nothing was asked for\n"
    assert [call.words[0] for call in recorder.calls] == ["python"]
    assert not list(tmp_path.glob("tiny/**/*"))


def test_a_slice_that_is_there_is_refused_in_the_words_of_google(recorder, tmp_path, capsys):
    error = "ERROR: (gcloud.compute.tpus.queued-resources.create) ALREADY_EXISTS: attnjax-tiny\n"
    recorder.answer(*QUEUED, "create", error=error, code=1)
    said = refused(capsys, *WORDS, "--runs", str(tmp_path), "--yes")
    assert said == f"attnjax: gcloud refuses: {error}"


def test_without_gcloud_it_is_said_how_to_get_it(nothing_installed, tmp_path, capsys):
    said = refused(capsys, *WORDS, "--runs", str(tmp_path), "--yes")
    assert "the program gcloud is not on this machine: install the Google Cloud CLI" in said


@pytest.mark.parametrize("on", ["v5:2x4", "v5e:9", "v5e"])
def test_an_unknown_slice_is_refused_at_once(recorder, capsys, on):
    said = refused(capsys, TINY, "--site", SITE, "--on", on, "--dry-run")
    assert "unknown kind of TPU" in said or "wanted a topology such as 2x4" in said


def test_the_bucket_is_one(tmp_path, capsys):
    site = tmp_path / "site.toml"
    site.write_text('project = "p"\nzone = "z"\nbucket = "my-bucket"\n')
    said = refused(capsys, TINY, "--site", str(site), "--on", "v5e:2x4", "--dry-run")
    assert "bucket: wanted str for which begins_with_gs is true; got str 'my-bucket'" in said


def gone(recorder) -> None:
    error = "ERROR: (gcloud.compute.tpus.queued-resources.describe) NOT_FOUND: attnjax-tiny\n"
    recorder.answer(*QUEUED, "describe", error=error, code=1)


def test_follow_fetches_the_runs_of_a_slice_that_is_done(launched, recorder, capsys):
    gone(recorder)
    recorder.answer("gcloud", "storage", "cat", out="0\n")
    assert tpu.program(["follow", str(launched)]) == 0
    _, fetched, read = (call.words for call in recorder.calls[-3:])
    runs = "gs://my-bucket/attnjax/runs/tiny"
    assert fetched == ["gcloud", "storage", "rsync", "--recursive", runs, str(launched)]
    assert read[-1] == "gs://my-bucket/attnjax/slices/attnjax-tiny/exit-code"
    assert "attnjax run ended with 0" in capsys.readouterr().out


def test_follow_asks_again_for_a_slice_that_was_taken_away(launched, recorder, monkeypatch, capsys):
    recorder.answer(*QUEUED, "describe", out=["WAITING_FOR_RESOURCES", "ACTIVE", "SUSPENDED"])
    before = recorder.calls[-1].words
    create = tpu.call

    def call_once(words):
        said = create(words)
        if list(words) == before:
            gone(recorder)
        return said

    monkeypatch.setattr(tpu, "call", call_once)
    recorder.answer("gcloud", "storage", "cat", out="2\n")
    assert tpu.program(["follow", str(launched)]) == 2
    words = [call.words for call in recorder.calls[3:]]
    at = words.index([*QUEUED, "delete", *before[5:6], *DELETE_OPTIONS])
    assert words[at + 1] == before
    assert "it was taken away" in capsys.readouterr().out


def test_a_slice_that_is_deleted_too_early_is_said(launched, recorder, capsys):
    gone(recorder)
    recorder.answer("gcloud", "storage", "cat", error="ERROR: no such object\n", code=1)
    assert "was deleted before its runs were done" in refused(capsys, "follow", str(launched))


def test_a_slice_that_cannot_be_made_is_said(launched, recorder, capsys):
    recorder.answer(*QUEUED, "describe", out="FAILED\n")
    said = refused(capsys, "follow", str(launched))
    assert "Google Cloud cannot make the slice attnjax-tiny: gcloud compute tpus" in said


@pytest.mark.parametrize(
    "command, words",
    [
        ("status", [*QUEUED, "describe", "attnjax-tiny"]),
        ("logs", ["gcloud", "storage", "cat", "gs://my-bucket/attnjax/runs/tiny/tpu.log"]),
        ("delete", [*QUEUED, "delete", "attnjax-tiny"]),
    ],
)
def test_a_slice_is_found_by_the_folder(launched, recorder, command, words):
    options = ["--yes"] if command == "delete" else []
    assert tpu.program([command, str(launched), *options]) == 0
    assert recorder.calls[-1].words[: len(words)] == words


def test_a_folder_that_was_never_launched_is_refused(tmp_path, capsys):
    said = refused(capsys, "status", str(tmp_path))
    assert said == f"attnjax: no runs of {tmp_path} were launched on a TPU\n"
