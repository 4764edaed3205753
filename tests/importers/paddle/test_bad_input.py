"""Damaged ``.pb`` files: the rest is read, and damage is counted."""

from __future__ import annotations

import pytest

from tests.helpers import paddle_protobuf as pb
from tests.importers.kineto.reference import read_bytes
from tests.importers.protobuf.encode import message, varint
from torch_tb_profiler.importers import TraceFormatError
from torch_tb_profiler.importers.paddle import is_paddle, is_protobuf, pieces
from torch_tb_profiler.importers.registry import detect_format
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns

STEP = pb.Node("ProfileStep#1", 2, 1000, 9000)
OPERATORS = [pb.Node(f"op{n}", 0, 2000 + 100 * n, 2050 + 100 * n, parent=1) for n in range(60)]
WHOLE = pb.recording(pb.tree([STEP, *OPERATORS]))


def names(columns: EventColumns) -> list[str]:
    return [columns.strings[code] for code in columns.tables["slices"]["name_code"]]


def test_a_cut_file_keeps_what_stands_before_the_cut() -> None:
    cut = read_bytes(WHOLE[: len(WHOLE) * 2 // 3])
    assert cut.quality.counts == {"truncated": 1}
    assert names(cut) == names(read_bytes(WHOLE))[: len(names(cut))]
    assert 30 < len(names(cut)) < 50


@pytest.mark.parametrize("size", [7, 9, 12, 14])
def test_a_file_without_a_whole_event_says_so(size: int) -> None:
    with pytest.raises(TraceFormatError, match="has no events") as raised:
        read_bytes(WHOLE[:9] + WHOLE[9:size])
    assert raised.value.code == "no_events"


def test_lengths_beyond_the_end() -> None:
    behind = message((1, "1.0.2"), (2, 0)) + message((3, pb.tree([STEP]))) + b"\x1a\xff\xff\x03x"
    columns = read_bytes(behind)
    assert (names(columns), columns.quality.counts) == (["ProfileStep#1"], {"truncated": 1})

    event = message((1, "op"), (2, 0), (3, 5), (4, 9), (5, 1), (6, 1)) + b"\x12\xff\x7f"
    node = message((1, 1), (2, 0), (3, event))
    columns = read_bytes(pb.recording(message((1, 9), (2, node))))
    assert (names(columns), columns.quality.counts) == (["op"], {"message_damaged": 1})


def test_invalid_times() -> None:
    nodes = [pb.Node("a", 0, 5000, 4000), pb.Node("b", 0, -7, 9000), pb.Node("c", 0, 2**62, 2**63),
             pb.Node("d", 0, 6000, -1), pb.Node("e", 0, 1000, 2000)]  # fmt: skip
    columns = read_bytes(pb.recording(pb.tree(nodes)))
    assert names(columns) == ["a", "d", "e"]
    assert columns.tables["slices"]["dur_ns"].tolist() == [0, 0, 1000]
    assert columns.quality.counts == {"event_without_time": 2, "negative_duration": 2}


def test_unknown_types_and_devices() -> None:
    odd = pb.Node("x", 77, 1000, 2000, memory=[pb.Memory(1500, 9, 1, 2**60, "Place(moon)")])
    columns = read_bytes(pb.recording(pb.tree([odd])))
    slices = columns.tables["slices"]
    assert columns.strings[slices["raw_category_code"][0]] == "type 77"
    assert slices["category"].tolist() == [Category.HOST_OTHER]
    assert columns.quality.counts == {"unknown_category": 1, "argument_value": 2}


@pytest.mark.parametrize("parent", [1, 2, 99, -5, -1])
def test_invalid_parents_change_nothing(parent: int) -> None:
    """Nodes nest by time, with a circle, a missing parent or a second root."""
    nodes = [STEP, pb.Node("op", 0, 2000, 3000, parent=parent)]
    trace = build_trace(read_bytes(pb.recording(pb.tree(nodes))))
    assert trace.slices["parent"].to_list() == [None, 0]


def test_many_trees_and_long_nodes_over_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 300)
    memory = [pb.Memory(1000 + n, n % 2, n, 8) for n in range(200)]
    trees = [pb.tree([pb.Node(f"op{n}", 0, 1000, 2000)], tid=n) for n in range(50)]
    long = pb.tree([pb.Node("long", 0, 1000, 2000, memory=memory), *OPERATORS], tid=99)
    columns = read_bytes(pb.recording(*trees, long, message((1, 7))), size=64)
    assert len(names(columns)) == 50 + 1 + 60
    assert columns.tables["memory"]["time_ns"].tolist() == [1000 + n for n in range(200)]
    assert (len(columns.tracks), columns.quality.counts) == (51, {})


def test_reading_a_node_without_an_end_terminates() -> None:
    tree = message((1, 9)) + b"\x12" + varint(2**40) + b"x" * 5000
    with pytest.raises(TraceFormatError, match="has no events"):
        read_bytes(message((1, "1.0.2"), (2, 0)) + b"\x1a" + varint(2**41) + tree)


def test_only_known_keys_of_the_map_are_read() -> None:
    extra = {"AWS_SECRET_ACCESS_KEY": "hunter2", "9": "worker", "user": "hunter2",
             "Process Cpu Utilization": "hunter2"}  # fmt: skip
    columns = read_bytes(pb.recording(pb.tree([STEP]), extra=extra))
    everything = repr((columns.strings, columns.tracks, columns.info, columns.side))
    assert "hunter2" not in everything
    assert "SECRET" not in everything
    assert columns.tracks[0].thread_name == "thread 9:worker"
    assert columns.quality.counts == {"header_value": 1}


def test_other_protobuf_files_are_not_traces() -> None:
    graph = message((1, message((1, "conv1/weights"), (2, "Const"))))
    usage = message((1, message((1, 3), (2, 4096))), (2, 1 << 20))
    for head, base_name, kind in (
        (graph, "frozen_graph.pb", "TensorFlow"),
        (usage, "memory_usage_0.pb", "MindSpore"),
        (b"\x08\x07", "model.pb", "a model"),
    ):
        assert not is_protobuf(head)
        assert not is_paddle(head, base_name)
        detection = detect_format(head, base_name, True)
        assert (detection.is_trace, detection.reason) == (False, "other_protobuf")
        assert kind in detection.text
    assert detect_format(WHOLE, "anything.pb", True).is_trace
