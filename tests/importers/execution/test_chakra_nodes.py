"""Nodes of Chakra's ``.et``, written and compared with the protobuf library's classes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.chakra import file_of, node, varint
from tests.helpers.examples import examples
from torch_tb_profiler.importers.execution import sniff
from torch_tb_profiler.importers.execution.chakra_nodes import ChakraNodes
from torch_tb_profiler.importers.execution.nodes import ExecutionNode
from torch_tb_profiler.trace.quality import QualityReport

IDS = st.integers(0, 2**63 - 1)
ATTRIBUTES = st.one_of(
    st.tuples(st.just("int64_val"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("int32_val"), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just("sint64_val"), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just("uint64_val"), st.integers(0, 2**64 - 1)),
    st.tuples(st.just("double_val"), st.floats(allow_nan=False)),
    st.tuples(st.just("float_val"), st.floats(allow_nan=False, width=32)),
    st.tuples(st.just("bool_val"), st.booleans()),
    st.tuples(st.just("string_val"), st.text(max_size=10)),
)
NODES = st.builds(
    lambda number, name, deps, kind, times, attributes: node(
        number, name, ctrl_deps=deps, type=kind, start_time_micros=times[0],
        duration_micros=times[1],
        attr=[(f"a{at}", *each) for at, each in enumerate(attributes)],
    ),
    IDS, st.text(min_size=1, max_size=20), st.lists(IDS, max_size=4), st.integers(0, 10),
    st.tuples(IDS, IDS), st.lists(ATTRIBUTES, max_size=5),
)  # fmt: skip


def read(data: bytes, size: int = 1 << 16) -> tuple[list[ExecutionNode], QualityReport]:
    quality = QualityReport()
    chunks = (data[at : at + size] for at in range(0, len(data), size))
    return list(ChakraNodes(chunks, quality)), quality


@examples(150)
@given(st.lists(NODES, max_size=6), st.sampled_from([1, 7, 1 << 16]))
def test_a_file_has_the_nodes_that_protobuf_wrote(messages: list[Any], size: int) -> None:
    nodes, quality = read(file_of(messages), size)
    assert [
        (each.id, each.name, each.parents, each.kind, each.start_us, each.duration_us)
        for each in nodes
    ] == [
        (m.id, m.name, tuple(m.ctrl_deps), m.type, m.start_time_micros, m.duration_micros)
        for m in messages
    ]
    for each, message in zip(nodes, messages, strict=True):
        given_values = {
            attribute.name: getattr(attribute, field.name)
            for attribute in message.attr
            for field, value in attribute.ListFields()
            if field.name != "name" and value
        }
        # proto3 writes no zeros.
        assert {key: value for key, value in each.attributes.items() if value} == given_values
    assert not quality.counts


def test_inputs_are_lists_as_json_or_python_writes_them() -> None:
    python = ("[[7, 8, 0, 512, 4, 'cpu'], True, None]", "[[2, 3], (), (1,)]",
              "['Tensor(float)', 'Bool', 'None']")  # fmt: skip
    written = ('[1, "a"]', "[[], []]", '["Int", "String"]')
    (one, two), _ = read(file_of([node(1, "a", inputs=python, outputs=written), node(2, "b")]))
    assert one.inputs.values == [[7, 8, 0, 512, 4, "cpu"], True, None]
    assert one.inputs.shapes == [[2, 3], [], [1]]
    assert one.inputs.types == ["Tensor(float)", "Bool", "None"]
    assert (one.outputs.values, one.outputs.types) == ([1, "a"], ["Int", "String"])
    assert two.inputs.values == []


@pytest.mark.parametrize("text", ["[" * 100_000, "-" * 100_000, "{}", "7", "[1", "x" * (1 << 21)])
def test_hostile_lists_are_no_lists(text: str) -> None:
    (one,), _ = read(file_of([node(1, "a", inputs=(text, text, text))]))
    assert one.inputs.values == []


@pytest.mark.parametrize("seed", range(30))
def test_a_truncated_file_loses_its_tail(seed: int) -> None:
    messages = [node(number, f"op{number}" * 9, ctrl_deps=[number - 1]) for number in range(1, 60)]
    data = file_of(messages)
    cut = data[: random.Random(seed).randrange(10, len(data) - 1)]
    nodes, quality = read(cut)
    assert [each.id for each in nodes] == list(range(1, len(nodes) + 1))
    whole = len(nodes) < 59 and file_of(messages[: len(nodes)]) == cut
    assert quality.counts == ({} if whole else {"truncated": 1})


@pytest.mark.parametrize("seed", range(30))
def test_random_damage_ends_in_no_error(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(file_of(node(number, f"op{number}") for number in range(1, 200)))
    for _ in range(rng.randrange(1, 20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    nodes, _ = read(bytes(data))
    assert len(nodes) <= 210


def test_huge_lengths_and_numbers() -> None:
    head = file_of([node(1, "a")])
    for tail in (varint(2**63), b"\xff" * 20, varint(1 << 40) + b"x" * 100):
        nodes, quality = read(head + tail)
        assert [each.id for each in nodes] == [1]
        assert quality.counts == {"truncated": 1}
    nodes, quality = read(file_of([node(2**64 - 1, "a"), node(5, "b", ctrl_deps=[2**64 - 1, 3])]))
    assert [(each.id, each.parents) for each in nodes] == [(5, (3,))]
    assert quality.counts == {"node_damaged": 1}


def test_a_file_is_recognized_by_its_beginning_and_ending() -> None:
    data = file_of([node(1, "a")])
    assert sniff(data, "rank0.et")
    assert not sniff(data, "rank0.pb")
    assert not sniff(b"plain text of an editor", "notes.et")
    assert not sniff(b"", "empty.et")
    assert not sniff(b"\x07\x0a", "short.et")
