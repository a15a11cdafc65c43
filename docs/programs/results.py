"""Writes docs/results.md, its pictures, what README repeats of it, and the times of `attnjax list`.

python docs/programs/results.py
"""

import json
from pathlib import Path

from attnjax.experiment.load import load
from attnjax.files import write_atomically
from attnjax.lab.reporting.recorded import of_shipped
from attnjax.lab.results.lines import read_records
from attnjax.lab.runs.catalog import RERUNS, find, names
from results_page.page import draw, in_readme, page
from results_page.rerun import rerun_times

ROOT = Path(__file__).resolve().parents[2]


def write(root: Path) -> None:
    """Write the files below `root`, whose README has the marks, from the checkout's records."""
    experiments = of_shipped(read_records(ROOT / "records"))
    files = [load(find(name)) for name in names()]
    readme = in_readme((root / "README.md").read_text(encoding="utf-8"), experiments)
    pictures = draw(experiments, root / "docs" / "results")
    write_atomically(root / "docs" / "results.md", page(experiments, files, pictures))
    write_atomically(root / "README.md", readme)
    reruns = json.dumps(rerun_times(experiments), indent=2)
    write_atomically(root / "experiments" / RERUNS, f"{reruns}\n")


if __name__ == "__main__":
    write(ROOT)
