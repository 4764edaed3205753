"""The example notebook runs in a kernel of Jupyter and shows the numbers of the views."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.export_readers import Page
from torch_tb_profiler.api import open_trace

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOK = "notebook.ipynb"


@pytest.fixture(scope="module")
def outputs(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Last line of a cell → its only output."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
            environment.setenv(name, str(tmp_path_factory.mktemp(name)))
        environment.setenv("PYTHONPATH", str(samples.parent))
        notebook = nbformat.read(samples / NOTEBOOK, as_version=4)
        assert all(not cell.get("outputs") for cell in notebook.cells)
        where = {"metadata": {"path": str(samples)}}
        nbclient.NotebookClient(notebook, timeout=120, resources=where).execute()
    shown = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            (output,) = cell.outputs  # no progress bar, no warning
            assert output.output_type == "execute_result"
            shown[cell.source.splitlines()[-1]] = output.data
    return shown


def test_it_shows_the_numbers_of_the_views(outputs: dict[str, Any], samples: Path) -> None:
    with open_trace(samples / "kineto_resnet50_nw0", cache=False) as trace:
        overview = trace.overview()
        operators = trace.operators(steps=range(5, 8), sort="-device_self_us")
    for cell in ("trace", "trace.overview()"):
        assert overview.answer in Page(outputs[cell]["text/html"]).texts
    total = float(outputs['operators.frame["device_self_us"].sum()']["text/plain"])
    assert total == operators.frame["device_self_us"].sum()
    texts = Page(outputs["operators"]["text/html"]).texts
    shown = operators.frame.select("name", "calls", "device_self_us").head(10)
    for name, calls, self_us in shown.rows():
        at = texts.index(name)
        assert texts[at + 1] == f"{calls:,}"
        assert texts[at + 2] == f"{self_us / 1000:.2f}"


def test_every_output_is_html_and_text(outputs: dict[str, Any]) -> None:
    for cell, data in outputs.items():
        if cell != 'operators.frame["device_self_us"].sum()':
            assert set(data) == {"text/plain", "text/html"}, cell
            assert len(data["text/html"]) < 1_500_000
    report = Page(outputs["trace.report()"]["text/html"])
    assert [tag for tag, _ in report.tags].count("iframe") == 1
