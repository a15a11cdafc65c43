"""The notebooks of the site run as they stand; a kernel starts, and small models are trained."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_notebook_runs(path: Path, tmp_path: Path):
    """Its numbers may differ from those that are printed in it, what it prints last may not."""
    notebook = nbformat.read(path, as_version=4)
    printed = [len(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    assert any(printed), "it is kept with what it printed"
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    html = "".join(
        output.data.get("text/html", "")
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "data" in output
    )
    shown = {"first-ablation": "attention matters", "translator": "<svg"}
    shown |= {"induction": "<svg", "widths": "change of the logits"}
    assert shown[path.stem] in html
