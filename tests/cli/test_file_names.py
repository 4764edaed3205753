"""Cases: one trace, several, equal names from several locations, names that become equal, case,
lengths, reserved and unusual names; the same names every time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.cli.file_names import MAX_STEM_BYTES, AnswerName, file_stems
from torch_tb_profiler.views.registry import all_views

MAX_NAME_BYTES = 255


def _stems(names: Sequence[AnswerName]) -> list[str]:
    return file_stems(names, several_traces=True)


def _name(run: str, worker: str = "w", span: str = "1", location: str = "/logs") -> AnswerName:
    return AnswerName(location, run, worker, span, "overview")


def test_for_one_trace_the_view_is_the_name() -> None:
    names = [AnswerName("/logs", "run", "w", "1", view) for view in ("overview", "kernels")]
    assert file_stems(names, several_traces=False) == ["overview", "kernels"]


def test_for_several_traces_run_worker_and_span_are_prefixed() -> None:
    assert _stems([_name("a"), _name("b", "all")]) == ["a.w.1.overview", "b.all.1.overview"]


def test_equal_names_of_several_locations_get_the_end_of_their_path() -> None:
    locations = ["/data/monday/run", "/data/tuesday/run", "/data/other"]
    stems = _stems(
        [
            *(_name("run", location=location) for location in locations[:2]),
            _name("x", location=locations[2]),
        ]
    )
    assert stems == [
        "monday_run.run.w.1.overview",
        "tuesday_run.run.w.1.overview",
        "x.w.1.overview",
    ]


def test_a_location_given_twice_makes_two_files() -> None:
    first, second = _stems([_name("a"), _name("a")])
    assert first.startswith("a.w.1.overview~")
    assert second == f"{first}~2"


@pytest.mark.parametrize(
    ("one", "other"),
    [("a b", "a_b"), ("Run", "rUN"), ("é", "e\u0301"), ("a/b", "a\\b"), ("", "."), ("ß", "SS")],
)
def test_names_that_become_equal_are_disambiguated(one: str, other: str) -> None:
    stems = _stems([_name(one), _name(other)])
    assert len({stem.casefold() for stem in stems}) == 2
    assert stems == _stems([_name(other), _name(one)])[::-1]


def test_a_dot_in_a_name_is_not_a_separator() -> None:
    first, second = _stems([_name("a.b", "c"), _name("a", "b.c")])
    assert first != second


@pytest.mark.parametrize(
    "run",
    ["..", ".", "", "CON", "nul.x", "com1", "-rf", ".hidden", "a\nb\x1b[31m", "\ud800", "/", "*?"],
)
def test_unusual_names_are_sanitized(run: str) -> None:
    (stem,) = _stems([_name(run)])
    assert stem.endswith(".overview")
    assert not stem.startswith((".", "-"))
    assert stem.partition(".")[0].lower() not in {"con", "nul", "com1"}
    assert stem.isprintable()
    assert not set('/\\:*?"<>| ') & set(stem)
    stem.encode()


def test_long_names_are_shortened_and_stay_unique() -> None:
    for text in ("r" * 400, "ü" * 400, "日" * 400):
        stems = _stems([_name(text + "1"), _name(text + "2")])
        assert len(set(stems)) == 2
        for stem in stems:
            assert len(stem.encode()) <= MAX_STEM_BYTES
            assert stem.endswith(".overview")


def test_names_leave_space_for_every_table() -> None:
    longest = max(len(table.name) for spec in all_views().values() for table in spec.tables)
    assert MAX_STEM_BYTES + len("~01234567~99999") + longest + len("..csv") <= MAX_NAME_BYTES


ODD_TEXT = st.one_of(
    st.text(max_size=6),
    st.text("aA._- /\\", max_size=4),
    st.text(min_size=250, max_size=260),
    st.sampled_from(["..", "CON", "a.b", "a", "ä", "a\u0308"]),
)


@given(
    st.lists(
        st.builds(AnswerName, ODD_TEXT, ODD_TEXT, ODD_TEXT, ODD_TEXT, st.sampled_from(["x", "y"])),
        max_size=8,
    )
)
def test_no_two_answers_share_a_file(names: list[AnswerName]) -> None:
    stems = _stems(names)
    assert len({stem.casefold() for stem in stems}) == len(names)
    assert stems == _stems(names)
    for stem in stems:
        assert len(stem.encode()) <= MAX_STEM_BYTES + 15
        assert "/" not in stem
        assert "\0" not in stem
