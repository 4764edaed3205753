"""Backslashes that torch on Windows (up to 2.0) writes as they are. Expected texts are by hand."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.importers.kineto.reference import actual, read_bytes
from torch_tb_profiler.importers.kineto.info import RECORDER
from torch_tb_profiler.importers.kineto.repair import fix_escapes, restore_names
from torch_tb_profiler.trace.info import TraceInfo

LAYOUTS = (
    '  {{\n    "ph": "X",\n    "cat": "cpu_op",\n    "name": "{name}",\n    "pid": 5,\n'
    '    "tid": "7",\n    "ts": {ts},\n    "dur": 10,\n    "args": {{\n'
    '      "External id": {ts},\n      "Call stack": "{stack}"\n    }}\n  }}',
    '  {{\n    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 5, "tid": 7,\n'
    '    "ts": {ts}, "dur": 10,\n    "args": {{\n'
    '      "Call stack": "{stack}", "External id": {ts}\n    }}\n  }}',
    '  {{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 5, "tid": 7, "ts": {ts}, "dur": 10, '
    '"args": {{"Call stack": "{stack}"}}}}',
)
"""Of torch up to 1.12, of later ones, and of one event per line."""


def document(layout: str, name: str, stack: str = "a.py(3): f") -> bytes:
    names = ["op 0", "op 1", name, "op 3"]
    stacks = ["a.py(3): f", "a.py(3): f", stack, "a.py(3): f"]
    events = ",\n".join(
        layout.format(name=text, stack=stacks[ts], ts=ts) for ts, text in enumerate(names)
    )
    return f'{{\n  "schemaVersion": 1,\n  "traceEvents": [\n{events}\n  ]\n}}'.encode()


RESTORED = [
    "trail\\",
    "trail\\\\\\",
    "\\",
    "C:\\Users\\new",
    "C:\\Users\\new\\",
    "C:\\Users\\",
    "\\\\server\\share\\unit",
    "C:\\Users\\table \\u0041",
    'C:\\Users say "hi"',
    'say "C:\\new"',
    'a "b" c\\',
    '\\", "x": "y\\',
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", RESTORED)
def test_a_name_keeps_its_backslashes(layout: str, name: str) -> None:
    columns = read_bytes(document(layout, name))
    rows = actual(columns)

    assert [row[1] for row in rows["slices"]] == ["op 0", "op 1", name, "op 3"]
    assert [row[4] for row in rows["slices"]] == [0, 1000, 2000, 3000]
    assert {row[4] for row in rows["operator"]} == {"a.py(3): f"}
    assert columns.quality.counts["backslash_repaired"] == 1


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("stack", ["C:\\Users\\new.py(3): f", "C:\\new\\", "C:\\Users\\"])
def test_a_call_stack_keeps_its_backslashes(layout: str, stack: str) -> None:
    columns = read_bytes(document(layout, "C:\\Users\\new", stack))
    rows = actual(columns)

    assert [row[1] for row in rows["slices"]] == ["op 0", "op 1", "C:\\Users\\new", "op 3"]
    assert [row[4] for row in rows["operator"]] == ["a.py(3): f", "a.py(3): f", stack, "a.py(3): f"]
    assert columns.quality.counts == {"backslash_repaired": 1}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("C:\\\\Users\\\\new", "C:\\Users\\new"),
        ('say \\"hi\\"', 'say "hi"'),
        ("C:\\new", "C:\new"),
        ('C:\\Users say \\"hi\\"', 'C:\\Users say "hi"'),
    ],
)
def test_a_possible_escape_in_a_valid_string_is_one(written: str, name: str) -> None:
    columns = read_bytes(document(LAYOUTS[1], written))

    assert actual(columns)["slices"][2][1] == name


def test_a_name_that_ends_too_early_is_restored_with_its_backslashes() -> None:
    name = 'C:\\Users", "pid": 5, "x": "b\\new'

    columns = read_bytes(document(LAYOUTS[1], name))

    assert [row[1] for row in actual(columns)["slices"]] == ["op 0", "op 1", name, "op 3"]
    assert columns.quality.counts["ambiguous_name"] == 1


def test_backslashes_in_the_header() -> None:
    data = b'{"path": "C:\\Users\\new", "host_name": "C:\\q\\n", "traceEvents": []}'

    columns = read_bytes(data)

    assert columns.info == TraceInfo(recorder=RECORDER, host_name="C:\\q\\n")
    assert columns.quality.counts == {"backslash_repaired": 1}


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        (r'{"a": "b\n"}', r'{"a": "b\n"}'),
        (r'{"a": "b\q\n", "c": "\n"}', r'{"a": "b\\q\\n", "c": "\n"}'),
        (r'{"a": "\x\\y"}', r'{"a": "\\x\\\\y"}'),
        (r'{"a": "\u00e9 \ud800"}', r'{"a": "\u00e9 \ufffd"}'),
        (r'{"a": "\x\ud800"}', r'{"a": "\\x\\ud800"}'),
        (r'{"a": "\x \"b\" "}', r'{"a": "\\x \"b\" "}'),
        ("{\\q}", "{\\\\q}"),
        ('{"a": "cut\\', '{"a": "cut\\\\'),
    ],
)
def test_one_bad_escape_makes_its_whole_string_literal(text: str, fixed: str) -> None:
    assert fix_escapes(text)[0] == fixed


@given(
    st.lists(
        st.sampled_from(["\\", "C:", "U", "n", "u0041", '"', " ", "/", "é", ", "]),
        min_size=1,
        max_size=8,
    ).map("".join),
    st.sampled_from(LAYOUTS),
)
@example("\\", LAYOUTS[0])
def test_a_name_that_proves_itself_unescaped_is_restored(name: str, layout: str) -> None:
    """A bad escape, or a backslash at the end, is such a proof."""
    name = "\\U" + name

    columns = read_bytes(document(layout, name))

    names = [row[1] for row in actual(columns)["slices"]]
    assert names[:2] + names[3:] == ["op 0", "op 1", "op 3"]
    ends_escaped = '\\"' in name.replace("\\\\", "")
    assert names[2] == name or ends_escaped


def test_without_a_name_there_is_nothing_to_restore() -> None:
    assert list(restore_names('{"ph": "X", "pid": 5, "tid": 6}')) == []
