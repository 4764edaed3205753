"""Structs that events are decoded into: one for the envelope, one per kind of arguments.

The envelope leaves ``args`` undecoded, so the decoder skips most of the text at memory speed; the
arguments are then decoded into a struct with only the fields that kind of event needs. Scalars are
``Any``: a number that a vendor writes as text must not fail the event, and it costs nothing.

All decoders are built while the module is imported, by one thread; :mod:`torch_tb_profiler.once`
has the reason.
"""

from __future__ import annotations

from types import GenericAlias
from typing import Any, NamedTuple

import msgspec

from torch_tb_profiler.trace.columns import ABSENT

NO_ARGS = msgspec.Raw(b"{}")
ABSENT_RAW = msgspec.Raw(b"")


class Event(msgspec.Struct, gc=False):
    """The envelope of a Chrome trace event; times stay undecoded, for a double may lose digits."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = ABSENT_RAW
    dur: msgspec.Raw = ABSENT_RAW
    id: Any = None
    args: msgspec.Raw = NO_ARGS


class ArgumentField(NamedTuple):
    """How one argument is decoded.

    Attributes:
        key: Its key in the file.
        default: The value of an absent one; a ``Raw`` default leaves the argument undecoded.
    """

    key: str
    default: Any


ArgumentFields = dict[str, ArgumentField]
"""Field of the struct → argument."""


def _int(key: str) -> ArgumentField:
    return ArgumentField(key, ABSENT)


def _float(key: str) -> ArgumentField:
    return ArgumentField(key, float("nan"))


def _text(key: str) -> ArgumentField:
    return ArgumentField(key, None)


def _list(key: str) -> ArgumentField:
    return ArgumentField(key, ABSENT_RAW)


# The decoder searches a key from the field after the last match: fields are in the order in which
# torch >= 2.3 writes them, followed by those of older releases.

LINK_FIELDS: ArgumentFields = {
    "external_id": _int("External id"),
    "correlation": _int("correlation"),
    "external_id_old": _int("external id"),
}
OPERATOR_FIELDS: ArgumentFields = {
    "record_function_id": _int("Record function id"),
    "concrete_inputs": _list("Concrete Inputs"),
    "input_type": _list("Input type"),
    "input_shape": _list("Input Dims"),
    "call_stack": _text("Call stack"),
    "forward_thread": _int("Fwd thread id"),
    "sequence_number": _int("Sequence number"),
    "module_hierarchy": _text("Module Hierarchy"),
    "input_shape_old": _list("Input dims"),
    "python_caller_id": _text("python_caller_id"),
}

COLLECTIVE_FIELDS: ArgumentFields = {
    "collective": _text("Collective name"),
    "dtype": _text("dtype"),
    "in_nelems": _int("In msg nelems"),
    "out_nelems": _int("Out msg nelems"),
    "group_size": _int("Group size"),
    "group": _text("Process Group Name"),
    "group_id": _text("Process Group ID"),
    "group_description": _text("Process Group Description"),
    "group_ranks": _text("Process Group Ranks"),
    "in_splits": _text("In split size"),
    "out_splits": _text("Out split size"),
    "sequence": _int("Seq"),
    "comms_id": _int("Comms Id"),
    "src_rank": _int("Src Rank"),
    "dst_rank": _int("Dst Rank"),
    "is_async": _text("Is asynchronized op"),
}

COLLECTIVE_MARKS: ArgumentFields = {
    name: COLLECTIVE_FIELDS[name] for name in ("collective", "in_nelems", "group", "group_id")
}
"""Any of these marks collective metadata."""

STATED_FIELDS: ArgumentFields = {
    "kernel_file": _text("kernel_file"),
    "kernel_kwargs": _text("kernel_kwargs"),
    "kernel_flop": _float("kernel_flop"),
    "kernel_num_gb": _float("kernel_num_gb"),
    "flops": _float("flops"),
    "annotation": _text("annotation"),
    "stack": _text("stack"),
}

TRITON_FIELDS: ArgumentFields = {
    "num_warps": ArgumentField("num_warps", None),
    "num_stages": ArgumentField("num_stages", None),
}
"""Launch options that Inductor writes separately from ``kernel_kwargs``."""

HOST_MARKS: ArgumentFields = {
    name: STATED_FIELDS[name] for name in ("kernel_file", "kernel_flop", "kernel_num_gb", "flops")
}
"""Any of these on a host slice states its work or source."""

DEVICE_MARKS: ArgumentFields = {
    name: STATED_FIELDS[name] for name in ("annotation", "stack", "flops")
}
"""Any of these on device work states its annotation or work."""

PYTHON_FIELDS: ArgumentFields = {
    "python_parent_id": _int("Python parent id"),
    "python_id": _int("Python id"),
    "module_id": _int("Python module id"),
}

DEVICE_FIELDS: ArgumentFields = {
    "device": _int("device"),
    "stream": _int("stream"),
    "grid": _list("grid"),
    "block": _list("block"),
    "registers_per_thread": _int("registers per thread"),
    "shared_memory_bytes": _int("shared memory"),
    "blocks_per_sm": _float("blocks per SM"),
    "warps_per_sm": _float("warps per SM"),
    "est_achieved_occupancy_pct": _float("est. achieved occupancy %"),
    "est_achieved_occupancy_pct_old": _float("theoretical occupancy %"),
    "graph": _int("graph id"),
    "graph_node": _int("graph node id"),
    "bytes": _int("bytes"),
    "occupancy": _text("occupancy"),
    "original_stream": _int("original_stream"),
}

COPY_FIELDS: ArgumentFields = {
    "copy_kind": _text("copy kind"),
    "source_kind": _text("src kind"),
    "target_kind": _text("dst kind"),
    "memory_kind": _text("memory kind"),
}
"""Direction and memories of copies and sets of recorders that do not write them into the name."""

NODE_FIELDS: ArgumentFields = {
    "event": _text("cuda event"),
    "function": _text("host fn"),
    "function_address": _text("host fn addr"),
    "process": _float("host process"),
    "thread": _float("host thread"),
}
"""Arguments of nodes of graphs that are no device work: recorded events and host callbacks."""

NODE_NUMBERS = ("process", "thread")
"""The fields of these that are numbers; the others are texts."""

MEMORY_FIELDS: ArgumentFields = {
    "device_type": _int("Device Type"),
    "device": _int("Device Id"),
    "address": _int("Addr"),
    "bytes": _int("Bytes"),
    "total_allocated_bytes": _int("Total Allocated"),
    "total_reserved_bytes": _int("Total Reserved"),
}

ASCEND_FIELDS: ArgumentFields = {
    "connection": _int("connection_id"),
    "queue_entry": _int("correlation_id"),
    "task_type": _text("Task Type"),
    "element_count": _int("count"),
    "element_type": _text("data_type"),
}
"""Arguments of Ascend's tools: ids that link a device task to the CANN call that launched it, and a
queue entry to its work; the kind of a task; what a collective transfers."""

TRACK_FIELDS: ArgumentFields = {
    "name": _text("name"),
    "labels": _text("labels"),
    "sort_index": _text("sort_index"),
}


PROFILER_TEXTS = frozenset(
    {
        "kind",
        "kernel",
        "hsa_queue",
        "Pg Config",
        "Input Tensors start",
        "Output Tensors start",
        "Global rank start",
        "Global rank stride",
        "limiting factors",
        "stream",
        "annotated_stream",
        *(field.key for field in (COPY_FIELDS | NODE_FIELDS).values()),
    }
)
"""Text arguments of device work that profilers write."""

PROFILER_KEYS = PROFILER_TEXTS | {
    field.key
    for fields in (LINK_FIELDS, DEVICE_FIELDS, COLLECTIVE_FIELDS, STATED_FIELDS)
    for field in fields.values()
}
"""Arguments of device work that profilers write; any other text is a user's annotation."""


_LIST_DECODERS: dict[msgspec.json.Decoder[Any], msgspec.json.Decoder[list[Any]]] = {}


def decoder(name: str, *groups: ArgumentFields) -> msgspec.json.Decoder[Any]:
    """Build the decoder of a struct with the fields of some groups.

    Args:
        name: The name of the struct.
        groups: Its fields.
    """
    fields = {name: field for group in groups for name, field in group.items()}
    struct = msgspec.defstruct(
        name,
        [
            (name, msgspec.Raw if field.default is ABSENT_RAW else Any, field.default)
            for name, field in fields.items()
        ],
        gc=False,
        rename={name: field.key for name, field in fields.items()},
    )
    result: msgspec.json.Decoder[Any] = msgspec.json.Decoder(struct)
    _LIST_DECODERS[result] = msgspec.json.Decoder(GenericAlias(list, (struct,)))
    return result


EVENTS = msgspec.json.Decoder(list[Event])

HOST_FIELDS = LINK_FIELDS | OPERATOR_FIELDS | COLLECTIVE_MARKS | HOST_MARKS
PYTHON_SLICE_FIELDS = PYTHON_FIELDS | LINK_FIELDS
WORK_FIELDS = LINK_FIELDS | DEVICE_FIELDS | COLLECTIVE_MARKS | DEVICE_MARKS | COPY_FIELDS
ANY_FIELDS = (
    LINK_FIELDS
    | OPERATOR_FIELDS
    | COLLECTIVE_MARKS
    | PYTHON_FIELDS
    | DEVICE_FIELDS
    | HOST_MARKS
    | DEVICE_MARKS
    | ASCEND_FIELDS
)
"""Arguments of slices whose category says nothing."""

STATED_ARGS = decoder("StatedArgs", STATED_FIELDS, TRITON_FIELDS)
COLLECTIVE_ARGS = decoder("CollectiveArgs", COLLECTIVE_FIELDS)
NODE_ARGS = decoder("NodeArgs", NODE_FIELDS)
TRACK_ARGS = decoder("TrackArgs", TRACK_FIELDS)
COUNTER_ARGS: msgspec.json.Decoder[Any] = msgspec.json.Decoder(dict[str, Any])
_LIST_DECODERS[COUNTER_ARGS] = msgspec.json.Decoder(list[dict[str, Any]])


def list_decoder(one: msgspec.json.Decoder[Any]) -> msgspec.json.Decoder[list[Any]]:
    """The decoder of lists of the same struct, to decode many with one call.

    Args:
        one: A decoder of this module.
    """
    return _LIST_DECODERS[one]
