"""The generated files: in step with the declarations, and true to them in TypeScript's terms.

The small declarations here are hand-made, so the tests do not repeat the generator.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import evidence_tables
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import Column, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

ROOT = Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools" / "generate_schema.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_schema", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _never(_trace: Trace, _selection: Selection) -> View:
    raise AssertionError


DEMO = ViewSpec(
    "step-times",
    "Step times",
    "How long?",
    "trace",
    (
        TableSpec(
            "slow_steps",
            "Slow steps",
            "A row is a step.",
            (
                Column("step", "Step", "string", None, "Its | name."),
                Column("total_us", "Total", "number", "us", "How long.", estimated=True),
                Column("ok", "OK", "boolean", None, "Whether."),
            ),
            sort="-total_us",
        ),
    ),
    _never,
    ("name", "name+shape"),
)


def test_the_files_in_the_repository_are_in_step_with_the_declarations() -> None:
    """The drift check of ``make test``: after a change run ``python tools/generate_schema.py``."""
    done = subprocess.run(
        [sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_view_becomes_constants_and_row_types(tool: ModuleType) -> None:
    text = tool.typescript([DEMO])
    assert (
        """  "step-times": {
    title: "Step times",
    scope: "trace",
    groupBys: ["name", "name+shape"],
    parameters: [],
    tables: {
      "slow_steps": ["step", "total_us", "ok"],
    },
  },
"""
        in text
    )
    assert (
        """export interface StepTimesSlowStepsRow {
  step: string | null;
  total_us: number | null;
  ok: boolean | null;
}"""
        in text
    )
    assert '    "slow_steps": StepTimesSlowStepsRow;' in text


@pytest.mark.parametrize(
    "line",
    [
        'export type SpanState = "queued" | "parsing" | "ready" | "failed";',
        "  rows: Scalar[][];",
        "  y: (number | null)[];",
        "  evidence: Record<string, unknown>;",
        "  baseline?: BaselineRef;",
        "  worker: string | null;",
        "  unit: Unit | null;",
        "export type Scalar = string | number | boolean | null;",
    ],
)
def test_payload_types_keep_their_nulls_and_names(tool: ModuleType, line: str) -> None:
    assert line in tool.typescript([DEMO]).splitlines()


def test_the_reference_tells_unit_estimate_and_order_and_escapes_bars(tool: ModuleType) -> None:
    lines = tool.reference([DEMO], {"slow": DEMO.tables[0]}).splitlines()
    step, total = (
        next(line for line in lines if line.startswith(f'| <a id="step-times.slow_steps.{key}">'))
        for key in ("step", "total_us")
    )
    assert step.endswith("</a>`step` | Step | string |  | Its \\| name. |")
    assert total.endswith("</a>`total_us` | Total (est.) | number | us | How long. |")
    assert "A row is a step. Ordered by `-total_us`." in lines


def test_every_view_table_and_column_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "columns.md").read_text(encoding="utf-8")
    for view in all_views().values():
        section = text.partition(f"(`{view.name}`)")[2].partition("\n## ")[0]
        for table in view.tables:
            rows = section.partition(f"### `{table.name}`")[2].partition("\n### ")[0]
            for column in table.columns:
                assert f"</a>`{column.key}` |" in rows
    evidence = text.partition("## Evidence of the advice")[2]
    for code, table in evidence_tables().items():
        rows = evidence.partition(f"### `{code}`: {table.title}")[2].partition("\n### ")[0]
        for column in table.columns:
            assert f"</a>`{column.key}` |" in rows
