"""Recordings that no profiler writes: whatever is asked of them has an answer, or a reason.

Cases: every shape of ``bench/degenerate_shapes.py`` as a file; those that importers mend, as
columns; random mixes of shapes. Of each every view is asked once, and some of all other questions
there are; ``bench/degenerate.py`` asks all of them, and of large recordings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.answer_checks import problems
from bench.degenerate_shapes import SHAPES, mixed, text_of
from bench.every_answer import (
    FORMATS,
    Asked,
    Recordings,
    report_questions,
    route_questions,
    view_questions,
)
from tests.helpers.examples import examples
from tests.helpers.traces import trace as trace_of_columns
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

SIZE, MANY = 40, 300
FEWER = {"many_devices": 100, "many_device_processes": 100}
"""Shapes of which less is many: every view looks at each device."""

WORKERS = ("w0", "w1")
QUESTIONS, ROUTES = 5, 4
"""How many are asked besides every view as it is."""

AS_COLUMNS = ("of_negative_length", "negative_times", "from_end_to_end", "at_one_moment")
"""Shapes whose numbers importers mend or leave out."""


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_file(shape: str, tmp_path: Path) -> None:
    size = FEWER.get(shape, MANY) if shape.startswith("many") else SIZE
    traces = {
        worker: _read(text_of(SHAPES[shape](size, Random(worker)), has_ranks=True))
        for worker in WORKERS
    }
    _ask(tmp_path, traces, Random(shape))


@pytest.mark.parametrize("shape", AS_COLUMNS)
def test_what_importers_mend(shape: str, tmp_path: Path) -> None:
    events = SHAPES[shape](SIZE, Random(1))
    _ask(tmp_path, dict.fromkeys(WORKERS, trace_of_columns(events)), Random(shape))


@examples(12)
@given(st.lists(st.sampled_from(list(SHAPES)), min_size=1, max_size=4), st.integers(0, 2**32))
def test_mixes(tmp_path_factory: pytest.TempPathFactory, shapes: list[str], seed: int) -> None:
    choice = Random(seed)
    traces = {
        worker: _read(text_of(mixed(shapes, SIZE, choice), has_ranks=choice.random() < 0.5))
        for worker in WORKERS
    }
    _ask(tmp_path_factory.mktemp("mix"), traces, choice)


def _read(text: bytes) -> Trace:
    return build_trace(import_trace([text], name="odd.json"))


def _ask(folder: Path, traces: dict[str, Trace], choice: Random) -> None:
    with Recordings(folder, traces) as recordings:
        for name, asked in _chosen_views(traces[WORKERS[0]], choice):
            result = recordings.view(name, asked)
            if result is not None:
                assert not list(problems(result.view)), (name, asked)
                _decoded(FORMATS["json"](result))
                FORMATS[choice.choice(list(FORMATS))](result)
        routes = list(route_questions(traces[WORKERS[0]], choice))
        for path, asked in choice.sample(routes, ROUTES):
            status, body = recordings.get(path, asked)
            assert status in (200, 400, 404, 422), (path, asked, body[:300])
            if status != 200:
                assert _decoded(body)["error"]["message"]
        for _, make in report_questions(recordings):
            make()


def _chosen_views(trace: Trace, choice: Random) -> Iterator[tuple[str, Asked]]:
    """Every view as it is, and some with more."""
    everything = list(view_questions(trace, choice))
    first = dict(reversed(everything))
    return itertools.chain(first.items(), choice.sample(everything, QUESTIONS))


def _decoded(text: object) -> dict[str, Any]:
    """JSON in the strict sense: no NaN, no infinity, valid UTF-8."""
    assert isinstance(text, bytes)
    return msgspec.json.decode(text, type=dict[str, Any])
