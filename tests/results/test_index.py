"""The page over all experiments."""

import shutil

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
