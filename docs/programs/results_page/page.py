"""The page of results, in Markdown: what was found, and every recorded experiment's claims."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from attnjax.experiment.load import ExperimentFile
from attnjax.lab.reporting import drawing, evidence as say
from attnjax.lab.reporting.number import number
from attnjax.lab.reporting.recorded import Recorded
from attnjax.lab.reporting.tally import tally
from attnjax.lab.results.description import with_setting
from attnjax.lab.results.record import Record
from attnjax.lab.results.summary import ClaimRow, Judged
from results_page import picture
from results_page.found import FoundRow, findings
from results_page.rerun import rerun_time, rerun_times

MARK = re.compile(
    r"<!-- (tally|rerun of \S+|finding of [^>]+?) -->(\s*).*?(\s*)<!-- \1 -->", re.DOTALL
)
"""Stands before and after what README has of this page."""

UNRECORDED = re.compile(r"No records[^.]*?:.*?\.(?=\s|$)", re.DOTALL)
"""The sentence of a note's first paragraph that says why there are no records."""


def page(
    experiments: Sequence[Recorded],
    files: Sequence[ExperimentFile] = (),
    pictures: Mapping[str, str] | None = None,
) -> str:
    """Render the page of the experiments with records, in their order.

    `files` are those of which some may have no records; `pictures` are the files of pictures, by
    the experiment with its setting.
    """
    found = findings(experiments)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    content = environment.get_template("results.md.jinja").render(
        experiments=experiments,
        tally=tally(experiments),
        found=_table(row for row in found if row.kind != "stand-in"),
        tried=_table(row for row in found if row.kind == "stand-in"),
        pictures=pictures or {},
        waiting=[(file.name, why) for file in files if (why := why_unrecorded(file))],
        differing=[_cells(cells) for file in files for cells in differences(file)],
        runs=_runs,
        made=_made,
        with_setting=with_setting,
        row=_row,
        number=number,
    )
    return content.rstrip() + "\n"


@drawing.in_one_process()
def draw(experiments: Sequence[Recorded], folder: Path) -> dict[str, str]:
    """Draw a picture of each experiment in a folder; return their files by experiment.

    Pictures of ours that are no longer shown are removed.
    """
    folder.mkdir(exist_ok=True)
    drawn = {}
    for experiment in experiments:
        path = folder / f"{experiment.loaded.folder}.svg"
        content = picture.shown(experiment)
        if content is not None and picture.draw(content, path):
            drawn[with_setting(experiment.loaded)] = f"{folder.name}/{path.name}"
    for path in folder.glob("*.svg"):
        if f"{folder.name}/{path.name}" not in drawn.values() and picture.drawn_here(path):
            path.unlink()
    return drawn


def why_unrecorded(file: ExperimentFile) -> str:
    """Return the sentence of a note that says why there are no records; "": it has none."""
    sentence = UNRECORDED.search(file.note.partition("\n\n")[0])
    return " ".join(sentence[0].split()) if sentence else ""


def differences(file: ExperimentFile) -> list[tuple[str, ...]]:
    """Return in what settings of a file differ from their papers; equal rows are shared."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name, setting in file.ablation.settings.items():
        for what, (theirs, ours) in setting.differs.items():
            rows.setdefault((what, theirs, ours), []).append(name)
    return [(f"{file.name}, {' and '.join(names)}", *row) for row, names in rows.items()]


def in_readme(readme: str, experiments: Sequence[Recorded]) -> str:
    """Return README with the tally, findings and the times of reruns between their marks.

    Raises:
        ValueError: it has no marks, or one of what no record is about.
    """
    texts = {"tally": tally(experiments)}
    texts |= {f"rerun of {name}": time for name, time in rerun_times(experiments).items()}
    texts |= {
        f"finding of {row.experiment}: {row.text}": row.sentence for row in findings(experiments)
    }

    def filled(mark: re.Match[str]) -> str:
        name, before, after = mark.groups()
        if name not in texts:
            raise ValueError(f"README has a mark for the {name}, of which there is no record")
        return f"<!-- {name} -->{before}{texts[name]}{after}<!-- {name} -->"

    text, count = MARK.subn(filled, readme)
    if not count:
        raise ValueError("README has no marks, such as <!-- tally --> before and after the tally")
    return text


def _made(experiment: Recorded) -> str:
    """Describe records: their number, the time of a rerun, machines, dates and commits."""
    records = sorted(
        experiment.summary.records, key=lambda record: (record.recorded, record.identity)
    )
    kinds = dict.fromkeys(record.kind for record in records)
    codes = [record.code.attnjax for record in records if record.code is not None]
    commits = dict.fromkeys(
        f"{code.commit[:8]}{'' if code.clean else ', changed'}" for code in codes if code.commit
    )
    dates = sorted(record.date for record in records)
    made = f"{_runs(records)}; one rerun: {rerun_time(experiment)}"
    on = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    return f"{made}; {' and '.join(kinds)}; {on}; commit {', '.join(commits) or 'unknown'}."


def _runs(records: Sequence[Record]) -> str:
    return "1 run" if len(records) == 1 else f"{len(records)} runs"


def _row(judged: Judged) -> str:
    """Return the row of a claim in a table of Markdown."""
    rows = judged.rows
    text = judged.text if judged.kind is None else f"{judged.text} ({say.origin(judged)})"

    def of_each(words: Callable[[ClaimRow], str]) -> list[str]:
        if len(rows) == 1:
            return [*map(words, rows.values())]
        return [f"{kind}: {words(row)}" for kind, row in rows.items()]

    absent = ", ".join(judged.absent)
    cells = ("…", f"no record of {absent}" if absent else "not measured", "")
    if (row := judged.weakest) is not None:
        verdict = say.verdict(row) if judged.agreed else "; ".join(of_each(say.verdict))
        estimates, seeds = of_each(say.evidence), map(_seeds, rows.values())
        cells = (verdict, "<br>".join(estimates), "<br>".join(seeds))
    return _cells((text, *cells))


def _table(rows: Iterable[FoundRow]) -> list[str]:
    """Return the rows of a table of Markdown with its head; []: there are none."""
    head = ("paper", "claim", "kind", "printed there", "ours (95 % interval)", "verdict")
    lines = [_cells(row.cells) for row in rows]
    return [_cells((*head, "minutes", "command")), "|---" * 8 + "|", *lines] if lines else []


def _cells(cells: Sequence[str]) -> str:
    """Return a row of a table of Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _seeds(row: ClaimRow) -> str:
    if row.verdict in ("not trained", "not judged yet", "depends on the rate"):
        return row.reason
    values = ", ".join(number(value, 3) for _, value in row.seeds)
    words = (values, row.reason or say.few_seeds(row) or say.wanting(row), say.at_ties(row))
    return "; ".join(filter(None, words))
