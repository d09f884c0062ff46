"""The notebook runs from its first cell to its film."""

import shutil
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "first_flight.ipynb"


@pytest.mark.long
def test_the_notebook_flies_plots_and_films(tmp_path, monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    shutil.copy(NOTEBOOK, tmp_path)
    notebook = nbformat.read(tmp_path / NOTEBOOK.name, 4)
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    said = "".join(output.get("text", "") for output in outputs)
    shown = [kind for output in outputs for kind in output.get("data", {})]
    assert "collisions: 0" in said and "RMS" in said
    assert shown.count("image/png") == 2 and "image/gif" in shown
    assert (tmp_path / "flight.gif").stat().st_size > 100_000


def test_the_notebook_is_saved_without_outputs():
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, 4)
    assert all(
        not cell.outputs and cell.execution_count is None
        for cell in notebook.cells
        if cell.cell_type == "code"
    )
