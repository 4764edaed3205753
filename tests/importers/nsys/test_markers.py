"""Texts of NVTX ranges: of PyTorch's releases, of PyProf and DLProf, of programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.importers.nsys.literals import MAX_CHARS, MAX_DEPTH, dict_literal
from torch_tb_profiler.importers.nsys.markers import MarkerKind, parse_markers
from torch_tb_profiler.importers.nsys.pyprof import parse_pyprof
from torch_tb_profiler.trace.columns import ABSENT

NO = ABSENT
CONV = (
    "{'mod': 'torch.nn.functional', 'op': 'conv2d', 'args': [{'name': '', 'type': 'tensor', "
    "'shape': (8, 3), 'dtype': 'float32'}, {'name': 'eps', 'type': 'float', 'value': 1e-05}]}"
)

# Text, name, kind, sequence number, backward, sizes.
TEXTS: list[tuple[str, str, MarkerKind, int, bool, str | None]] = [
    ("aten::add, op_id = 31", "aten::add", MarkerKind.OPERATOR, NO, False, None),
    ("aten::mul, seq = 4, op_id = 3", "aten::mul", MarkerKind.OPERATOR, 4, False, None),
    (
        "aten::linear, seq = 0, op_id = 0, sizes = [[8, 16], []], input_op_ids = [(1,0), (2,1)]",
        "aten::linear",
        MarkerKind.OPERATOR,
        0,
        False,
        "[[8, 16], []]",
    ),
    (
        "aten::mm, sizes = [[1,2],[2,3]], seq = 9",
        "aten::mm",
        MarkerKind.OPERATOR,
        9,
        False,
        "[[1, 2], [2, 3]]",
    ),
    ("add, seq = 5", "add", MarkerKind.OPERATOR, 5, False, None),
    ("add, seq=5, sizes=[[2]]", "add", MarkerKind.OPERATOR, 5, False, "[[2]]"),
    ("zeros, sizes = [[], []]", "zeros", MarkerKind.OPERATOR, NO, False, "[[], []]"),
    ("AddBackward0, stashed seq=7", "AddBackward0", MarkerKind.OPERATOR, 7, True, None),
    ("CatBackward, seq = 12", "CatBackward", MarkerKind.OPERATOR, 12, True, None),
    (
        "autograd::engine::evaluate_function: MulBackward0, seq = 3, op_id = 9",
        "autograd::engine::evaluate_function: MulBackward0",
        MarkerKind.OPERATOR,
        3,
        True,
        None,
    ),
    ("FlashAttnFunc, seq = 8, op_id = 1", "FlashAttnFunc", MarkerKind.OPERATOR, 8, False, None),
    ("aten::mm, new_key = 3, op_id = 4", "aten::mm", MarkerKind.OPERATOR, NO, False, None),
    ("aten::mm, op_id = 4, new_key = {'a': 3}", "aten::mm", MarkerKind.OPERATOR, NO, False, None),
    ("aten::mm", "aten::mm", MarkerKind.OPERATOR, NO, False, None),
    ("aten::mm, seq = -1", "aten::mm", MarkerKind.OPERATOR, NO, False, None),
    ("c10d::allreduce_, op_id = 4", "c10d::allreduce_", MarkerKind.OPERATOR, NO, False, None),
    ("detach_, op_id = 6", "detach_", MarkerKind.OPERATOR, NO, False, None),
    ("nccl:all_reduce, op_id = 6", "nccl:all_reduce", MarkerKind.RANGE, NO, False, None),
    (
        "FSDP::pre_forward (a.b), op_id = 5",
        "FSDP::pre_forward (a.b)",
        MarkerKind.RANGE,
        NO,
        False,
        None,
    ),
    ("my loss, op_id = 5", "my loss", MarkerKind.RANGE, NO, False, None),
    ("load, decode = 3", "load, decode = 3", MarkerKind.RANGE, NO, False, None),
    ("thrust::sort", "thrust::sort", MarkerKind.RANGE, NO, False, None),
    ("ProfilerStep#4, op_id = 8", "ProfilerStep#4", MarkerKind.STEP, NO, False, None),
    (
        "enumerate(DataLoader)#_Iter.__next__",
        "enumerate(DataLoader)#_Iter.__next__",
        MarkerKind.DATALOADER,
        NO,
        False,
        None,
    ),
    (
        "Optimizer.step#SGD.step, op_id = 1",
        "Optimizer.step#SGD.step",
        MarkerKind.OPTIMIZER,
        NO,
        False,
        None,
    ),
    ("layer:Net/conv1", "layer:Net/conv1", MarkerKind.LAYER, NO, False, None),
    ("{'mod': 'Conv2d', 'strRepr': 'Conv2d(3, 8)'}", "Conv2d", MarkerKind.LAYER, NO, False, None),
    ("{'op': 'damaged', ", "{'op': 'damaged', ", MarkerKind.RANGE, NO, False, None),
    ("", "", MarkerKind.RANGE, NO, False, None),
    ("a\nb, seq = 2", "a\nb", MarkerKind.OPERATOR, 2, False, None),
    ("x, seq = 99999999999999999999", "x", MarkerKind.RANGE, NO, False, None),
]


def test_parsed_texts() -> None:
    markers = parse_markers([text for text, *_ in TEXTS])
    parsed = zip(
        markers.name.to_list(),
        (MarkerKind(kind) for kind in markers.kind.tolist()),
        markers.sequence_number.tolist(),
        markers.is_backward.tolist(),
        markers.input_shape.to_list(),
        strict=True,
    )
    assert list(parsed) == [tuple(rest) for _, *rest in TEXTS]


def test_markers_of_pyprof_are_data() -> None:
    markers = parse_markers(
        [
            CONV,
            "{'mod': ['torch'], 'op': 'linear', 'args': []}",
            "{'traceMarker': ['/a.py:3', '/b.py:11'], 'funcStack': '/Net/Conv2d'}",
        ]
    )
    assert [MarkerKind(kind) for kind in markers.kind] == [
        MarkerKind.OPERATOR, MarkerKind.OPERATOR, MarkerKind.CALL_STACK,
    ]  # fmt: skip
    assert markers.name.to_list() == ["torch.nn.functional.conv2d", "torch.linear", "/Net/Conv2d"]
    assert markers.input_shape.to_list() == ["[[8, 3], []]", None, None]
    assert markers.input_type.to_list() == ["['float32', 'Scalar']", None, None]
    assert markers.concrete_inputs.to_list() == ["['', '1e-05']", None, None]
    assert markers.call_stack.to_list() == [None, None, "/b.py(11): ;/a.py(3): "]


@pytest.mark.parametrize(
    "text",
    [
        "{'op': __import__('os').system('x')}",
        "{'op': a.b}",
        "{'op': 1+1}",
        "{'op': 'a' 'b'}",
        "{'a': [1][0]}",
        "{'a': f'{1}'}",
        "{'a': lambda: 1}",
        "{1: 2}",
        "{'a'}",
        "{[]: 1}",
        "{'a': 0x1}",
        "{'a': 'b'",
        "{'a': " + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}",
        "{'a': '" + "b" * MAX_CHARS + "'}",
        "{'a': " + "-" * 50_000 + "1}",
        "{'a': a" + ".a" * 30_000 + "}",
        "{'a': {}" + "[1]" * 20_000 + "}",
    ],
    ids=range(17),
)
def test_other_texts_are_not_parsed_as_literals(text: str) -> None:
    assert dict_literal(text) is None
    assert parse_pyprof(text) is None
    (name,) = parse_markers([text]).name
    assert name == text


def test_literals_are_read_as_python_does() -> None:
    value = {"a": [1, -2.5, 1e-05, True, None, ("x'y", 'q"')], "b": {"c": "\n{["}}
    assert dict_literal(repr(value)) == value


@given(st.lists(st.text(max_size=30) | st.sampled_from([text for text, *_ in TEXTS]), max_size=8))
def test_the_name_is_a_prefix_of_the_text(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    markers = parse_markers(texts)
    assert len(markers.kind) == len(markers.name) == len(texts)
    for text, name in zip(texts, markers.name.to_list(), strict=True):
        assert text.startswith(name) or text.startswith("{")
    assert np.all(markers.sequence_number[~np.isin(markers.kind, [MarkerKind.OPERATOR])] == ABSENT)
