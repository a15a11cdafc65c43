"""What the table of seeds is made of; nothing here is timed."""

from itertools import count

import pytest

from attnjax.benchmark import seeds
from attnjax.benchmark.seeds import SEEDS, seed_times, tables
from attnjax.benchmark.train import Size
from attnjax.benchmark.workload import Prepared
from attnjax.cli.main import main


def test_the_ratio_is_that_of_all_seeds_alone_over_together(monkeypatch):
    """A step takes 3 ticks alone and 6 together, so that 8 seeds are 8 x 3 / 6 times as fast."""
    now, asked = [0.0], []

    def prepare(*_: object, seeds: int) -> Prepared:
        asked.append(seeds)

        def call() -> float:
            now[0] += 3.0 if seeds == 1 else 6.0
            return now[0]

        return Prepared(call=call)

    monkeypatch.setattr(seeds, "prepare", prepare)
    (found,) = seed_times({"a": Size(8, 8, 1, 1, 8, 4)}, turns=3, shortest=12, clock=lambda: now[0])
    assert asked == [1, SEEDS]
    times = {"alone": 3.0 * SEEDS, "together": 6.0, "times": 3.0 * SEEDS / 6.0}
    assert found == {"name": "a", **times}
    (drawn,) = tables({"seeds": [found]})
    assert [column.header for column in drawn.columns][-1] == "times as fast"
    assert [list(column.cells) for column in drawn.columns][-1] == ["4.00"]


@pytest.mark.long
def test_real_steps_of_several_seeds(monkeypatch):
    ticks = count()
    found = seed_times(
        {"a": Size(8, 8, 1, 1, 8, 4)}, turns=1, shortest=0, clock=lambda: next(ticks)
    )
    assert found[0]["times"] > 0


def test_the_table_is_asked_for_alone(capsys):
    assert main(["bench", "seeds", "train"]) == 2
    assert "bench seeds is a table of its own: give nothing else" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    assert "the tables data, scaling, seeds" in " ".join(capsys.readouterr().out.split())
