"""Names page by page: all of them, none twice, none that names no slice; pages are bounded."""

from __future__ import annotations

import pytest

from tests.helpers.traces import op, trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline import names
from torch_tb_profiler.views.timeline.names import names_from

TEXTS = ["aten::mm", "a" * 40, "", "aten::add", "☃"]


@pytest.fixture
def named() -> Trace:
    return trace([op(text, 10 * n, 5) for n, text in enumerate(TEXTS * 3)])


def pages(trace: Trace) -> list[names.NamePage]:
    collected = [names_from(trace, 0)]
    while collected[-1].next_code is not None:
        collected.append(names_from(trace, collected[-1].next_code))
    return collected


@pytest.mark.parametrize(
    ("most_names", "most_characters"), [(10, 1000), (2, 1000), (10, 12), (1, 1)]
)
def test_pages_join_to_all_names_of_slices(
    named: Trace, monkeypatch: pytest.MonkeyPatch, most_names: int, most_characters: int
) -> None:
    monkeypatch.setattr(names, "MAX_NAMES", most_names)
    monkeypatch.setattr(names, "MAX_CHARACTERS", most_characters)
    collected = pages(named)
    by_code = {
        code: text for page in collected for code, text in zip(page.codes, page.names, strict=True)
    }
    used = set(named.slices["name_code"].to_list())
    assert by_code == {code: named.text(code) for code in used}
    assert sum(len(page.codes) for page in collected) == len(used)
    for page in collected:
        assert page.codes == sorted(page.codes)
        assert 0 < len(page.codes) <= most_names
        assert sum(map(len, page.names)) <= most_characters or len(page.names) == 1


def test_a_page_begins_at_the_code_asked_for(named: Trace) -> None:
    first = min(named.slices["name_code"])
    assert names_from(named, first + 1).codes[0] > first
    beyond = names_from(named, 10**9)
    assert (beyond.codes, beyond.names, beyond.next_code) == ([], [], None)


def test_a_trace_without_slices_has_no_names() -> None:
    assert names_from(trace([]), 0).codes == []
