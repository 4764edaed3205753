"""The matrix of formats and views: made of reasons, and that of the page is the one of today."""

from __future__ import annotations

import pytest

from tools.format_matrix import PAGE, current, examined, matrix, view_names


def test_views_without_anything_are_told_with_their_reason() -> None:
    found = {
        "one": dict.fromkeys(view_names()),
        "two": dict.fromkeys(view_names()) | {"memory": "Not read.", "modules": "Not read."},
    }
    lines = matrix(found).splitlines()
    assert lines[0] == "| view | one | two |"
    assert "| memory | filled | – |" in lines
    assert lines[-1] == "- **two**: memory, modules: Not read."
    assert not {"compare", "summary"} & set(view_names())


def test_the_page_has_the_matrix_of_today() -> None:
    found = examined()
    if found is None:
        pytest.skip("not every sample is at hand")
    text = PAGE.read_text(encoding="utf-8")
    assert current(text, found) == text
