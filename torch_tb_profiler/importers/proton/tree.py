"""A tree of scopes and kernels → columns, one row per node, parents first.

The file is a list: the tree (of several trees each), and at its end the devices. A node has
``frame`` (its name), ``metrics`` and ``children``; a kernel is a node with a time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.repair import parse_lenient
from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS
from torch_tb_profiler.importers.proton import PACKED_HEAD
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.limits import MAX_DEVICES
from torch_tb_profiler.trace.quality import QualityReport

TIME, COUNT = "time (ns)", "count"
DEVICE, DEVICE_TYPE = "device_id", "device_type"
BYTES = "bytes"
FLOPS = ("flops8", "flops16", "flops32", "flops64", "flops")
"""Operations by width of the operands, and without one."""

UNNAMED = "(unnamed)"
MAX_TIME_NS = 2**60
CYCLES = "cycles"
FORMER_NAMES = {
    "Time (ns)": TIME,
    "Count": COUNT,
    "DeviceId": DEVICE,
    "DeviceType": DEVICE_TYPE,
}
"""Names of the values in the first releases of Proton (Triton 3.0) → today's."""

READ = frozenset({TIME, COUNT, DEVICE, DEVICE_TYPE, BYTES, *FLOPS})
"""Values that are columns of their own."""

_CLOSING = {b"{": b"}", b"[": b"]"}
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_DIGITS = re.compile(r"\d{1,9}")


class TreeNode(Struct):
    """A node.

    Attributes:
        parent: Row of the node around it, -1 for none.
        name: Name of the scope or the kernel.
        time_ns: Time of all calls on a device; 0 for what is no kernel.
        calls: Number of calls; 0 for what is no kernel.
        device: Number of the device; None where it is not stated.
        device_type: ``"CUDA"``, ``"HIP"``.
        flops: Floating point operations of all calls; NaN where they are not stated.
        bytes: Bytes of all calls, likewise.
        values: Other values: numbers and texts.
    """

    parent: int
    name: str
    time_ns: int = 0
    calls: int = 0
    device: int | None = None
    device_type: str | None = None
    flops: float = math.nan
    bytes: float = math.nan
    values: dict[str, float | str] = field(default_factory=dict)

    @property
    def is_kernel(self) -> bool:
        """Whether it ran on a device."""
        return self.calls > 0


class ProtonTree(Struct):
    """The content of a file.

    Attributes:
        nodes: The nodes, parents before their children, in the order of the file.
        devices: (type, number) → its properties.
        has_cycles: Whether nodes state cycles inside kernels.
    """

    nodes: list[TreeNode] = field(default_factory=list)
    devices: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    has_cycles: bool = False


def read_tree(data: bytes, name: str, quality: QualityReport) -> ProtonTree:
    """The nodes of a file.

    Args:
        data: The unpacked file.
        name: Its name in messages.
        quality: Counts damage.

    Raises:
        TraceFormatError: it is no such tree, or nested too deeply.
    """
    content = _decoded(data, name, quality)
    tree = ProtonTree()
    pending: list[tuple[Any, int]] = []
    for item in reversed(content):
        if isinstance(item, dict) and ("frame" in item or "children" in item):
            pending.append((item, -1))
        elif isinstance(item, dict):
            tree.devices |= _devices(item)
    while pending:
        item, parent = pending.pop()
        if not isinstance(item, dict):
            quality.add("event_dropped")
            continue
        row = len(tree.nodes)
        tree.nodes.append(_node(item, parent, tree, quality))
        children = item.get("children")
        if isinstance(children, list):
            pending.extend((child, row) for child in reversed(children))
        elif children is not None:
            quality.add("argument_value")
    return tree


def _decoded(data: bytes, name: str, quality: QualityReport) -> list[Any]:
    try:
        if PACKED_HEAD.match(data) is not None:
            content = msgspec.msgpack.decode(data, strict=False)
        else:
            text = b"".join(utf8([data], quality))
            content = _json(text, quality)
    except RecursionError:
        message = f"{name} has scopes inside scopes, deeper than any program's."
        raise TraceFormatError("nested_too_deeply", message, "It is damaged.") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        message = f"{name} is a profile of Proton, but it is damaged from its start."
        raise TraceFormatError(
            "truncated", message, "The program was probably stopped while writing: profile again."
        ) from None
    return content if isinstance(content, list) else [content]


def _json(text: bytes, quality: QualityReport) -> Any:
    """The value of a text, which may end early, and hold NaN and bytes that are not UTF-8.

    Raises:
        msgspec.DecodeError: nothing whole stands at its beginning.
        RecursionError: it is nested too deeply.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        parsed = parse_lenient(text.decode("utf-8", "replace").lstrip())
    if parsed is not None:
        quality.add("not_a_number", parsed.invalid_numbers)
        return parsed.value
    closed = _closed(text)
    parsed = None if closed is None else parse_lenient(closed.decode("utf-8", "replace").lstrip())
    if parsed is None:
        raise msgspec.DecodeError("no whole node")
    quality.add("truncated")
    return parsed.value


def _closed(text: bytes) -> bytes | None:
    """The text up to its last whole object, with what is open there closed; None without one."""
    end = -1
    for stack, at, token in _brackets(text):
        if token == b"}" and stack[-1:] == [b"]"]:
            end = at
    if end < 0:
        return None
    open_at_end: list[bytes] = []
    for stack, _, _ in _brackets(text[:end]):
        open_at_end = stack
    return text[:end] + b"".join(reversed(open_at_end))


def _brackets(text: bytes) -> Iterator[tuple[list[bytes], int, bytes]]:
    """After each bracket: what closes those that are open (one list, which changes), the offset
    behind it, and the bracket. Ends where brackets do not match."""
    stack: list[bytes] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _CLOSING:
            stack.append(_CLOSING[token])
        elif token[:1] == b'"':
            continue
        elif not stack or stack.pop() != token:
            return
        yield stack, match.end(), token


def _node(
    item: Mapping[str, Any], parent: int, tree: ProtonTree, quality: QualityReport
) -> TreeNode:
    frame, metrics = item.get("frame"), item.get("metrics")
    name = frame.get("name") if isinstance(frame, dict) else None
    if not isinstance(name, str) or not name:
        quality.add("missing_name")
        name = UNNAMED
    node = TreeNode(parent, _cut(name, quality))
    if not isinstance(metrics, dict):
        return node
    for former, current in FORMER_NAMES.items():
        if former in metrics and current not in metrics:
            metrics = {**metrics, current: metrics[former]}
    tree.has_cycles |= CYCLES in metrics
    time_ns, calls = _whole(metrics.get(TIME)), _whole(metrics.get(COUNT))
    if time_ns is not None and calls and time_ns <= MAX_TIME_NS and parent >= 0:
        node.time_ns, node.calls = time_ns, calls
        node.device = _device_number(metrics.get(DEVICE))
        kind = metrics.get(DEVICE_TYPE)
        node.device_type = kind if isinstance(kind, str) else None
    elif time_ns or calls:
        quality.add("argument_value")
    operations = [_number(metrics[key]) for key in FLOPS if key in metrics]
    known = [each for each in operations if not math.isnan(each)]
    node.flops = sum(known) if known else math.nan
    node.bytes = _number(metrics.get(BYTES))
    for key, value in metrics.items():
        if key not in READ and key not in FORMER_NAMES and (isinstance(value, int | float | str)):
            text_or_number = _cut(value, quality) if isinstance(value, str) else value
            node.values[_cut(str(key), quality)] = text_or_number
    return node


def _cut(text: str, quality: QualityReport) -> str:
    quality.add("text_cut", int(len(text) > MAX_TEXT_CHARS))
    return text[:MAX_TEXT_CHARS]


def _whole(value: object) -> int | None:
    """A number of calls or nanoseconds; None for what is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 2**63 else None  # type: ignore[operator, return-value]


def _number(value: object) -> float:
    """A number of operations or bytes; of several values their sum; NaN for what is none."""
    if isinstance(value, list):
        numbers = [_number(each) for each in value]
        return sum(numbers) if numbers else math.nan
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(value) if is_number else math.nan  # type: ignore[arg-type]
    return number if 0 <= number < math.inf else math.nan


def _device_number(value: object) -> int | None:
    text = str(value) if isinstance(value, str | int) else ""
    number = int(text) if _DIGITS.fullmatch(text) else MAX_DEVICES
    return number if number < MAX_DEVICES else None


def _devices(item: Mapping[str, Any]) -> dict[tuple[str, int], Mapping[str, Any]]:
    devices: dict[tuple[str, int], Mapping[str, Any]] = {}
    for kind, numbers in item.items():
        for number, properties in numbers.items() if isinstance(numbers, dict) else ():
            device = _device_number(number)
            if device is not None and isinstance(properties, dict):
                devices[str(kind), device] = properties
    return devices
