"""What is decoded from an event: typed structs, one for the envelope and one per kind of args.

The envelope takes ``args`` undecoded, so the decoder skips most of the text at memory speed;
the args are then decoded by a struct that names only what that kind of event needs. Scalars are
``Any``: a vendor that writes a number as text must not fail the event, and it costs nothing.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

NO_ARGS = msgspec.Raw(b"{}")
NOTHING = msgspec.Raw(b"")


class Event(msgspec.Struct, gc=False):
    """The envelope of one Chrome trace event."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    id: Any = None
    args: msgspec.Raw = NO_ARGS


class ExactEvent(msgspec.Struct, gc=False):
    """The same with the times as text, for values that a double does not hold."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = NOTHING
    dur: msgspec.Raw = NOTHING
    id: Any = None
    args: msgspec.Raw = NO_ARGS


SCALAR = Any
LIST = msgspec.Raw

LINK_FIELDS: dict[str, tuple[str, Any]] = {
    "correlation": ("correlation", SCALAR),
    "external_id": ("External id", SCALAR),
    "external_id_old": ("external id", SCALAR),
}
"""Struct field → (key in the file, how it is decoded)."""

OPERATOR_FIELDS: dict[str, tuple[str, Any]] = {
    "input_shape": ("Input Dims", LIST),
    "input_shape_old": ("Input dims", LIST),
    "input_type": ("Input type", LIST),
    "concrete_inputs": ("Concrete Inputs", LIST),
    "call_stack": ("Call stack", SCALAR),
    "sequence_number": ("Sequence number", SCALAR),
    "forward_thread": ("Fwd thread id", SCALAR),
    "record_function_id": ("Record function id", SCALAR),
    "python_caller_id": ("python_caller_id", SCALAR),
}

COLLECTIVE_FIELDS: dict[str, tuple[str, Any]] = {
    "collective": ("Collective name", SCALAR),
    "dtype": ("dtype", SCALAR),
    "in_nelems": ("In msg nelems", SCALAR),
    "out_nelems": ("Out msg nelems", SCALAR),
    "group_size": ("Group size", SCALAR),
    "group": ("Process Group Name", SCALAR),
    "group_id": ("Process Group ID", SCALAR),
    "group_description": ("Process Group Description", SCALAR),
    "group_ranks": ("Process Group Ranks", SCALAR),
    "sequence": ("Seq", SCALAR),
    "src_rank": ("Src Rank", SCALAR),
    "dst_rank": ("Dst Rank", SCALAR),
    "is_async": ("Is asynchronized op", SCALAR),
}

PYTHON_FIELDS: dict[str, tuple[str, Any]] = {
    "python_id": ("Python id", SCALAR),
    "python_parent_id": ("Python parent id", SCALAR),
    "module_id": ("Python module id", SCALAR),
}

DEVICE_FIELDS: dict[str, tuple[str, Any]] = {
    "device": ("device", SCALAR),
    "stream": ("stream", SCALAR),
    "grid": ("grid", LIST),
    "block": ("block", LIST),
    "registers_per_thread": ("registers per thread", SCALAR),
    "shared_memory_bytes": ("shared memory", SCALAR),
    "blocks_per_sm": ("blocks per SM", SCALAR),
    "warps_per_sm": ("warps per SM", SCALAR),
    "est_achieved_occupancy_pct": ("est. achieved occupancy %", SCALAR),
    "est_achieved_occupancy_pct_old": ("theoretical occupancy %", SCALAR),
    "graph_node": ("graph node id", SCALAR),
    "bytes": ("bytes", SCALAR),
    "occupancy": ("occupancy", SCALAR),
}

MEMORY_FIELDS: dict[str, tuple[str, Any]] = {
    "device_type": ("Device Type", SCALAR),
    "device": ("Device Id", SCALAR),
    "address": ("Addr", SCALAR),
    "bytes": ("Bytes", SCALAR),
    "total_allocated_bytes": ("Total Allocated", SCALAR),
    "total_reserved_bytes": ("Total Reserved", SCALAR),
}

TRACK_FIELDS: dict[str, tuple[str, Any]] = {
    "name": ("name", SCALAR),
    "labels": ("labels", SCALAR),
    "sort_index": ("sort_index", SCALAR),
}


def _decoder(name: str, *groups: dict[str, tuple[str, Any]]) -> msgspec.json.Decoder[Any]:
    fields = {field: spec for group in groups for field, spec in group.items()}
    struct = msgspec.defstruct(
        name,
        [
            (field, kind, NOTHING if kind is msgspec.Raw else None)
            for field, (_, kind) in fields.items()
        ],
        gc=False,
        rename={field: key for field, (key, _) in fields.items()},
    )
    return cast("msgspec.json.Decoder[Any]", msgspec.json.Decoder(struct))


EVENTS = msgspec.json.Decoder(list[Event])
EXACT_EVENTS = msgspec.json.Decoder(list[ExactEvent])

LINK_ARGS = _decoder("LinkArgs", LINK_FIELDS)
HOST_ARGS = _decoder("HostArgs", LINK_FIELDS, OPERATOR_FIELDS, COLLECTIVE_FIELDS)
PYTHON_ARGS = _decoder("PythonArgs", LINK_FIELDS, PYTHON_FIELDS)
DEVICE_ARGS = _decoder("DeviceArgs", LINK_FIELDS, DEVICE_FIELDS, COLLECTIVE_FIELDS)
ANY_ARGS = _decoder(
    "AnyArgs", LINK_FIELDS, OPERATOR_FIELDS, COLLECTIVE_FIELDS, PYTHON_FIELDS, DEVICE_FIELDS
)
MEMORY_ARGS = _decoder("MemoryArgs", MEMORY_FIELDS)
TRACK_ARGS = _decoder("TrackArgs", TRACK_FIELDS)
COUNTER_ARGS: msgspec.json.Decoder[Any] = msgspec.json.Decoder(dict[str, Any])
