"""The page over all experiments, and the server that follows them."""

import shutil
import urllib.request
from contextlib import suppress
from queue import Queue
from threading import Thread

from attnjax.cli import serve
from attnjax.results.index import write_index


def test_an_index_links_reports_and_names_what_is_under_way(tiny_runs, tmp_path):
    run = tmp_path / "tiny"
    shutil.copytree(tiny_runs / "tiny", run, ignore=shutil.ignore_patterns("checkpoints"))
    (run / "cosine" / "seed-1" / "result.json").unlink()
    text = write_index(tmp_path).read_text()
    assert '<a href="tiny/report.html">tiny</a>' in text
    assert "Can a tiny Transformer copy?" in text
    assert "? undecided: 2" in text
    assert "<td>3</td>" in text
    assert "cosine/seed-1: step 6 of 6" in text


def test_pages_are_made_again_when_a_run_has_gone_on(tmp_path, monkeypatch):
    monkeypatch.setattr(serve, "SECONDS", 0.05)
    log = tmp_path / "x" / "seed-0" / "metrics.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("{}\n")
    made, said = Queue(), Queue()

    def make() -> None:
        if log.read_text().count("{") > 2:
            raise SystemExit  # ends the thread
        (tmp_path / "index.html").write_text(log.read_text())
        made.put(1)

    def follow() -> None:
        with suppress(SystemExit):
            serve.serve(tmp_path, make, 0, said.put)

    thread = Thread(target=follow, daemon=True)
    thread.start()
    address = said.get(timeout=20).split()[0]
    made.get(timeout=20)
    assert urllib.request.urlopen(address).read() == b"{}\n"
    log.write_text("{}\n{}\n")
    made.get(timeout=20)
    assert urllib.request.urlopen(address).read() == b"{}\n{}\n"
    log.write_text("{}\n" * 3)
    thread.join(timeout=20)
    assert not thread.is_alive()
