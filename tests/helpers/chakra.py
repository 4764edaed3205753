"""Chakra's messages as classes of the protobuf library, after ``et_def.proto``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.helpers.protobuf_classes import message_classes

CLASSES = message_classes(
    """
AttributeProto: 1 string name, 3 double double_val, 5 float float_val, 7 int32 int32_val,
  9 int64 int64_val, 10 Int64List int64_list, 13 uint64 uint64_val, 17 sint64 sint64_val,
  27 bool bool_val, 29 string string_val
Int64List: 1 repeated int64 values
GlobalMetadata: 1 string version, 2 repeated AttributeProto attr
IOInfo: 1 string values, 2 string shapes, 3 string types
Node: 1 uint64 id, 2 string name, 3 int32 type, 4 repeated uint64 ctrl_deps,
  5 repeated uint64 data_deps, 6 uint64 start_time_micros, 7 uint64 duration_micros,
  8 IOInfo inputs, 9 IOInfo outputs, 10 repeated AttributeProto attr
""",
    "chakra_et.proto",
    "proto3",
)


def node(number: int, name: str, **fields: Any) -> Any:
    """A ``Node``; ``attr`` is a list of (name, field, value), inputs and outputs are texts of
    values, shapes and types."""
    message = CLASSES["Node"](id=number, name=name)
    for key, value in fields.items():
        if key == "attr":
            for attribute, field, given in value:
                message.attr.add(name=attribute, **{field: given})
        elif key in ("inputs", "outputs"):
            values, shapes, types = value
            side = getattr(message, key)
            side.values, side.shapes, side.types = values, shapes, types
        elif key in ("ctrl_deps", "data_deps"):
            getattr(message, key).extend(value)
        else:
            setattr(message, key, value)
    return message


def example() -> bytes:
    """A small file with every kind of field."""
    shapes = ("[[7, 8, 0, 6, 4, 'cpu']]", "[[2, 3]]", "['Tensor(float)']")
    attr = [("comm_type", "int64_val", 0), ("comm_size", "int64_val", 4096),
            ("pg_name", "string_val", "7"), ("is_cpu_op", "bool_val", True)]  # fmt: skip
    return file_of(
        [
            node(1, "start", type=1),
            node(2, "aten::mm", type=4, inputs=shapes, outputs=shapes, ctrl_deps=[1],
                 start_time_micros=10, duration_micros=5),
            node(3, "all_reduce", type=7, attr=attr, ctrl_deps=[2], data_deps=[1, 2]),
        ]
    )  # fmt: skip


def varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def file_of(nodes: Iterable[Any], version: str = "0.0.4") -> bytes:
    """A file: ``GlobalMetadata``, then the nodes, each after its length."""
    messages = [CLASSES["GlobalMetadata"](version=version), *nodes]
    return b"".join(
        varint(len(data)) + data for data in (each.SerializeToString() for each in messages)
    )
