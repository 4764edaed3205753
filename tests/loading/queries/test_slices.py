"""A slice is answered with the resolved names; a missing one is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.slices import slice_answer
from torch_tb_profiler.requests.errors import UnknownError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import TraceRef

Writer = Callable[..., Path]


@pytest.fixture
def catalog(tmp_path: Path, write_trace: Writer) -> Catalog:
    write_trace(tmp_path / "w.pt.trace.json", ("a", "b"))
    return Catalog([TraceRoot(str(tmp_path))], cache=None)


def test_the_answer_names_the_trace(catalog: Catalog) -> None:
    file = catalog.file(None, None, None)
    answer = slice_answer(catalog, Subject(), 1, None)
    assert answer.trace == TraceRef(file.run, "w", file.span)
    assert (answer.slice.id, answer.slice.name) == (1, "b")


def test_a_slice_that_is_not_there(catalog: Catalog) -> None:
    with pytest.raises(UnknownError, match="There is no slice 2; this trace has 2"):
        slice_answer(catalog, Subject(), 2, None)
