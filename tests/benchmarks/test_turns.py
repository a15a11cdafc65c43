"""What a measurement does with its clock and its peer; nothing here is timed."""

import json
import re
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from attnjax.attention.state import chunked
from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import END
from attnjax.errors import UserError
from attnjax.evaluation.flops import product_flops
from benchmarks import __main__ as command, attention, decode, peer, turns
from benchmarks.__main__ import FAMILIES, choose, program
from benchmarks.peer import Peer
from benchmarks.train import Size, prepare, transformer
from benchmarks.turns import measure, speed_changes
from benchmarks.workload import Prepared, Workload, product

ENGINE = """
import time
from serve import serve
ticks = iter(range(100))
time.perf_counter = lambda: 3.0 * next(ticks)
serve("Engine", "1.0", lambda: None)
"""

DYING = """
import json, sys
sys.stderr.write("much to say " * 10_000)
print(json.dumps({"engine": "Engine", "version": "1.0"}), flush=True)
sys.stdin.close()
sys.exit("out of memory")
"""


@pytest.fixture
def programs(monkeypatch, tmp_path) -> Path:
    """Write peer programs whose clock advances by 3 seconds a call; return their folder."""
    served = (peer.PROGRAMS / "serve.py").read_text()
    (tmp_path / "serve.py").write_text(served)
    (tmp_path / "engine.py").write_text(ENGINE)
    (tmp_path / "broken.py").write_text("import nothing_of_this_name")
    (tmp_path / "dying.py").write_text(DYING)
    (tmp_path / "strange.py").write_text("print('Good morning')")
    monkeypatch.setattr(peer, "PROGRAMS", tmp_path)
    return tmp_path


def workload(calls: list[int], program: str = "engine.py") -> Workload:
    return Workload(
        name="one",
        prepare=lambda: Prepared(call=lambda: calls.append(1), flops=10),
        peer=(program,),
        amount=6,
        unit="words/s",
    )


@pytest.mark.usefixtures("programs")
def test_ours_and_the_peer_take_turns():
    calls, clock = [], count(step=0.5)
    row = measure(workload(calls), Path(sys.executable), product(8), clock=lambda: next(clock))
    # Every look at the clock is half a second after the last, so a call takes that, the peer's 3.
    assert row["ours"]["median"] == 6 / 0.5
    assert row["peer"]["median"] == 6 / 3
    assert row["ratio"]["median"] == 6
    assert row["engine"] == "Engine 1.0"
    assert row["share"] == pytest.approx(10 / (2 * 8**3))
    taken = len(row["ours"]["samples"])
    assert turns.FEWEST <= taken <= turns.MOST
    assert len(row["peer"]["samples"]) == taken
    assert len(calls) == turns.WARM_UP + 1 + 2 * taken


@pytest.mark.usefixtures("programs")
def test_a_peer_that_cannot_run_is_one_sentence():
    here, nowhere = Path(sys.executable), Path("nowhere/python")
    refused = {
        "broken.py stopped: ModuleNotFoundError: .*nothing_of": (here, "broken.py"),
        r"a Python interpreter; got .* \(it said 'Good morning'\)": (here, "strange.py"),
        "--peer needs a Python interpreter; got nowhere/python": (nowhere, "engine.py"),
    }
    for said, (python, file) in refused.items():
        with pytest.raises(UserError, match=said), Peer(python, file):
            pass
    with Peer(here, "dying.py") as dying:
        for _ in range(2):
            with pytest.raises(UserError, match="dying.py stopped: .*out of memory"):
                dying.seconds(1)


def test_a_change_says_how_many_times_as_fast_and_whether_surely():
    def report(**samples):
        rows = [
            {"name": name, "unit": unit, "ours": {"median": sorted(s)[4], "samples": s}}
            for name, (unit, s) in samples.items()
        ]
        return {"workloads": rows}

    def turns(low, middle, high):
        return [low, *[middle] * 7, high]

    before = turns(9, 10, 11)
    found = {
        # one slow turn does not make it unsure, what the middle halves share does
        ("ms", (4, 5, 30)): (2.0, True),
        ("ms", (19, 20, 21)): (0.5, True),
        ("words/s", (19, 20, 21)): (2.0, True),
        ("words/s", (1, 5, 6)): (0.5, True),
        ("target tokens/s", (19, 20, 21)): (2.0, True),
        ("ms", (9, 10, 12)): (1.0, False),
    }
    names = [str(number) for number in range(len(found))]
    kept = {name: (unit, before) for name, (unit, _) in zip(names, found, strict=True)}
    now = {name: (unit, turns(*s)) for name, (unit, s) in zip(names, found, strict=True)}
    expected = [(name, *said) for name, said in zip(names, found.values(), strict=True)]
    assert list(speed_changes(report(**now, new=("ms", before)), report(**kept))) == expected


def test_workloads_are_chosen_by_family_and_by_name():
    assert choose(["attention"]) == FAMILIES["attention"]
    assert {workload.name for workload in choose(["train-base"])} == {"train-base"}
    assert len(choose(["train-base", "train"])) == len(FAMILIES["train"])
    assert len(choose([])) == sum(map(len, FAMILIES.values()))
    with pytest.raises(UserError, match="unknown workload 'training'; choose from attention"):
        choose(["training"])


def test_the_help_names_every_family(capsys):
    with pytest.raises(SystemExit):
        program(["workloads", "--help"])
    said = capsys.readouterr().out
    assert [name for name in FAMILIES if f"{name}," not in said] == []


def test_a_window_as_long_as_the_text_is_causal_attention():
    """The workloads compute what they say, and count the same work."""
    whole, window = attention.prepare(64), attention.prepare(64, window=64)
    assert window.flops == whole.flops
    for full, windowed in zip(whole.call(), window.call(), strict=True):
        np.testing.assert_allclose(full, windowed, atol=1e-6)
    narrow = attention.prepare(64, window=8)
    assert (narrow.flops or 0) < (whole.flops or 0) / 3
    assert not np.allclose(narrow.call()[0], whole.call()[0], atol=1e-3)


def test_every_peer_is_a_program_that_python_reads():
    files = {workload.peer[0] for workload in choose([]) if workload.peer is not None}
    assert files
    for file in files:
        path = peer.PROGRAMS / file
        compile(path.read_text(), str(path), "exec")


def test_every_answer_of_the_decoding_has_15_words(monkeypatch):
    monkeypatch.setattr(decode, "SENTENCES", 3)
    monkeypatch.setitem(decode.SIZES, "tiny", Size(8, 8, 1, 2, 1, 1))
    answers = decode.prepare().call()
    assert [answer.tokens[0].tolist().index(END) for answer in answers] == [15] * 3


@pytest.mark.long
def test_every_update_goes_on_from_the_last_also_for_two_seeds_in_half_precision():
    model = transformer(Size(8, 8, 1, 2, 4, 4), vocabulary=16)
    given = Batch(*np.random.default_rng(0).integers(4, 16, (2, 4, 4), np.int32))
    steps = prepare(model, given, smoothing=0.1, precision="bfloat16", seeds=2)
    first, *_, last = (steps.call()["nll"] for _ in range(8))
    assert first.shape == (2,)
    assert (last < first).all()
    assert steps.flops == 2 * prepare(model, given, smoothing=0.1).flops


def test_causal_attention_is_half_of_seven_products():
    length, width = 4, 8 * 64
    assert attention.flops(length) == 7 * 2 * width * sum(range(1, length + 1))
    assert attention.flops(length, window=2) == 7 * 2 * width * (1 + 2 + 2 + 2)


def test_the_delta_rule_is_counted_by_whole_chunks_and_below_what_is_done():
    one, two = (attention.delta_flops(chunks * chunked.CHUNK) for chunks in (1, 2))
    assert two == 2 * one
    workload = attention.prepare_delta(2 * chunked.CHUNK)
    assert workload.flops == two < product_flops(workload.call)


@pytest.mark.parametrize(
    "content, expected",
    [
        (None, r"--against needs a file that --json wrote; got .*kept.json \(No such file"),
        ("{}", "kept.json holds something else"),
        ("no", "kept.json holds something else"),
        ('{"workloads": 3, "date": 1, "device": 1, "cores": 1, "jax": 1}', "holds something else"),
        (
            '{"date": "", "device": "", "cores": 2, "jax": "", "workloads": [{"name": "train-tiny",'
            ' "unit": "ms", "ours": {"median": 0, "samples": [0, 0]}}]}',
            "holds something else",
        ),
    ],
)
def test_a_file_that_is_no_report_is_refused_before_anything_is_timed(
    content, expected, tmp_path, capsys
):
    path = tmp_path / "kept.json"
    if content is not None:
        path.write_text(content)
    assert program(["train", "--against", str(path)]) == 2
    assert re.search(expected, capsys.readouterr().err)


def test_what_was_measured_before_a_peer_failed_is_printed(monkeypatch, capsys):
    turn = count()

    def fail_at_the_second(workload: Workload, *_: object) -> dict:
        if next(turn):
            raise UserError("the peer stopped: no engine")
        ours = {"median": 2.0, "samples": [2.0] * 5}
        return {"name": workload.name, "unit": "ms", "ours": ours, "product_gflops": 100.0}

    monkeypatch.setattr(command, "measure", fail_at_the_second)
    assert program(["train-tiny", "seq2seq-luong"]) == 2
    said, progress = capsys.readouterr()
    assert "train-tiny" in said
    assert "no engine" in progress


def test_the_command_prints_a_table_or_one_object(monkeypatch, tmp_path, capsys):
    row = {
        "name": "one",
        "unit": "ms",
        "ours": {"median": 2.0, "samples": [2.0] * 5},
        "peer": {"median": 3.0, "samples": [3.0] * 5},
        "engine": "Engine 1.0",
        "ratio": {"median": 1.5, "samples": [1.25, 1.5, 1.75]},
        "flops": 10,
        "share": 0.25,
        "product_gflops": 100.0,
    }
    monkeypatch.setattr(
        command, "measure", lambda workload, python, product: row | {"name": workload.name}
    )
    assert program(["train-tiny", "--json"]) == 0
    said, progress = capsys.readouterr()
    assert progress == "1 of 1: train-tiny\n"
    assert json.loads(said)["workloads"] == [row | {"name": "train-tiny"}]
    (tmp_path / "kept.json").write_text(said)
    assert program(["train-tiny", "--against", str(tmp_path / "kept.json")]) == 0
    table = capsys.readouterr().out
    for expected in (
        "train-tiny",
        "Engine 1.0",
        "1.50 (1.25 to 1.75)",
        "25%",
        "1.00",
        "within the spread",
    ):
        assert expected in table


def test_a_beam_search_multiplies_every_weight_once_a_word_and_hypothesis(monkeypatch):
    """Attention adds less than a tenth. Sources are as long as in the mean of the measurement."""
    monkeypatch.setattr(decode, "SHORTEST", 14)
    monkeypatch.setattr(decode, "LONGEST", 15)
    layer, feed_forward = 2 * 128**2, 2 * 2 * 128 * 256
    word = 2 * 128 * 10_000 + 4 * (6 * layer + feed_forward)
    source = 4 * (4 * layer + feed_forward) + 4 * 2 * layer
    sentence = 16 * decode.BEAM * word + 15.5 * source
    flops = decode.prepare().flops
    assert flops
    assert 1 < flops / (decode.SENTENCES * sentence) < 1.1


def test_rounded_attention_is_near_exact_attention_and_other():
    exact, rounded = attention.prepare(32).call(), attention.prepare_rounded(32).call()
    for ours, theirs in zip(rounded, exact, strict=True):
        assert 0 < abs(ours - theirs).max() < 0.05
