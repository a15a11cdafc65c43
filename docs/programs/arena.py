"""Prints docs/arena.md from the records of the arena; its picture is that of docs/results.md.

python docs/programs/arena.py > docs/arena.md
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from attnjax.experiment.crossing import Crossing
from attnjax.experiment.load import load
from attnjax.lab.reporting import crossings
from attnjax.lab.reporting.evidence import verdict
from attnjax.lab.reporting.number import number
from attnjax.lab.reporting.recorded import Recorded, recorded
from attnjax.lab.results.lines import read_records
from attnjax.lab.results.record import Record
from attnjax.lab.runs.catalog import find
from results_page.rerun import minutes_of

ROOT = Path(__file__).parents[2]

HEAD = """\
# The arena

{note}

## Your idea in the arena

A file of ten lines: the arena, your part, its name.

{mine}
The changes are paths and values, as `vary` takes them; `attnjax show arena` lists every path. A
part is a class of your own, or one that is there with other numbers: [extending](extending.md) says
what a score, an align, a mask or a whole attention has to have, and `attnjax check mine.py` tries
it.

    attnjax run mine.py --dry-run --records   # what is to be trained, and what is recorded
    attnjax run mine.py --records

Your row is tuned over three learning rates on each task, and three seeds are trained at the best of
them; how long that took for the rows of the table stands at the end of this page. Records stand in
for all other rows. `--variant parity-squared`, which may be repeated, trains your row on one task
alone; several processes that share the folder `runs` each take some. You get

- a table of everybody, your row marked: percent right at lengths of training and beyond, then
  parameters, what a layer keeps of the text, and milliseconds of an update;
- two verdicts a task, by the number beyond the trained length: at least {points} points above
  softmax, and at most {points} points below the best of all rows;
- `runs/mine/report.html`, with the picture, your row outlined, and every seed.

The best is chosen by its results, which flatters it: if anything that verdict is too hard on your
row. A part that reads what stands behind a word solves everything; `attnjax check` tries whether
one does. Two rows are `enter(enter(arena, ...), ...)`, and `attnjax record runs/mine` makes records
of yours.
"""

MINE = '''\
"""My idea in the arena."""

import attnjax
from attnjax.attention import Align, softmax
from attnjax.experiment import enter


class Squared(Align):
    """The weights of a softmax, squared and normalized: a temperature of one half."""

    def __call__(self, logits, mask, context):
        return softmax(2 * logits, mask)


arena = attnjax.load("arena").ablation
ablation = enter(arena, "squared", {"model.layer.self_attention.head.align": Squared()})
'''
"""The file of the page; a test runs it on a small arena."""


def judged(name: str, records: Iterable[Record]) -> Recorded | None:
    """Judge an experiment by its records; None: there are none."""
    own = [record for record in records if record.experiment == name]
    return recorded(load(find(name)), own) if own else None


def page(experiment: Recorded | None, confirmed: Recorded | None) -> str:
    """Return the page, with what the records of the arena, and of its other seeds, come to."""
    loaded = load(find("arena"))
    mine = "".join(f"    {line}".rstrip() + "\n" for line in MINE.splitlines())
    text = HEAD.format(note=_of_page(loaded.note), mine=mine, points=2)
    if experiment is None:
        return f"{text}\n## The table\n\nThe arena was not run as it is now."
    summary = experiment.summary
    parts = [text, "## The table\n", "![Percent right, rows by tasks](results/arena.svg)\n"]
    for part in crossings.parts(summary):
        parts += [f"{part.text[:1].upper()}{part.text[1:]}.\n", _table(part), ""]
    if confirmed is not None:
        claims = confirmed.summary.claims
        rows = [(claim.text, verdict(claim), number(claim.estimate, 3)) for claim in claims]
        table = crossings.Part(text="", headings=("verdict", "difference"), rows=tuple(rows))
        parts += ["What other seeds say (`attnjax run arena_confirmed`):\n"]
        parts += [_table(table, "claim"), ""]
    parts += ["## Each task, with 95 % intervals over seeds\n"]
    for part in crossings.with_intervals(summary):
        parts += [f"### {part.text}\n", _table(part), ""]
    machines = ", ".join(dict.fromkeys(record.kind for record in summary.records))
    minutes = _minutes_of_rows(experiment)
    least, middle, most = (round(of(minutes)) for of in (min, median, max))
    parts += [
        f"{len(summary.records)} runs, on {machines}. By the clock a row took {least} to {most}",
        f"minutes, half of them at most {middle}, tuning and tests included.",
    ]
    return "\n".join(parts)


def _minutes_of_rows(experiment: Recorded) -> list[float]:
    """Return how long one rerun of each row takes by its records."""
    spent = defaultdict[str, float](float)
    for cell in crossings.cells(experiment.summary):
        spent[cell.row] += minutes_of(experiment, [Crossing.variant(cell.row, cell.column)])
    return [*spent.values()]


def _of_page(note: str) -> str:
    """Return the note of the file without its commands, which the page has below."""
    return re.sub(r"\n\n(?: {4}.*\n?)+", "\n", note).strip()


def _table(part: crossings.Part, first: str = "") -> str:
    """Return a table of Markdown."""
    lines = [(first, *part.headings), ("---", *["---:"] * len(part.headings)), *part.rows]
    return "\n".join("| " + " | ".join(cells).replace("*", "\\*") + " |" for cells in lines)


if __name__ == "__main__":
    records = read_records(ROOT / "records")
    print(page(judged("arena", records), judged("arena_confirmed", records)))
