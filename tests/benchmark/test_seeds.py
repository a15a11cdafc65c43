"""What the table of seeds is made of; nothing here is timed."""

from itertools import count

import pytest

from attnjax.benchmark import seeds
from attnjax.benchmark.seeds import SEEDS, seed_times, table
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
    assert found == ("a", 3.0 * SEEDS, 6.0, 3.0 * SEEDS / 6.0)
    assert found.times == 4.0
    assert [column.header for column in table([found]).columns][-1] == "times as fast"


@pytest.mark.long
def test_real_steps_of_several_seeds(monkeypatch):
    ticks = count()
    found = seed_times(
        {"a": Size(8, 8, 1, 1, 8, 4)}, turns=1, shortest=0, clock=lambda: next(ticks)
    )
    assert found[0].times > 0


def test_the_table_is_asked_for_alone(capsys):
    assert main(["bench", "seeds", "train"]) == 2
    assert "bench seeds is a table of its own: give nothing else" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    assert "the tables data, scaling, seeds" in " ".join(capsys.readouterr().out.split())
