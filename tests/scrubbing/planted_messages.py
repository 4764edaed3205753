"""Protobuf recordings with secrets in every place where a text may be."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from itertools import count

from tests.scrubbing.planted import FIELD_SECRETS, SECRETS
from torch_tb_profiler.scrubbing.message_walk import varint

ALL = "\n".join(SECRETS.values()).encode()
NO_TEXT = b"\xff\0" + ALL


def field(number: int, value: int | str | bytes | Iterable[bytes]) -> bytes:
    """A field: a number, a text, bytes, or a message of fields."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    content = value if isinstance(value, bytes) else b"".join(value)
    return varint(number << 3 | 2) + varint(len(content)) + content


def perfetto_packets() -> bytes:
    """Packets with secrets: in annotations of all forms, names, descriptors, and in packets that no
    reader reads, one of them compressed."""
    track, name_ids = 4242, count(1)
    fields = dict(zip(name_ids, FIELD_SECRETS, strict=False))
    interned = [field(3, [field(1, id_), field(2, key)]) for id_, key in fields.items()]
    interned += [
        field(29, [field(1, id_), field(2, FIELD_SECRETS[key])]) for id_, key in fields.items()
    ]
    interned += [
        field(2, [field(1, id_), field(2, f"load {secret}")])
        for id_, secret in enumerate(SECRETS.values(), 1000)
    ]
    process = [field(1, 7), field(2, "./launch --customer bigbank"), field(2, "trainbox42")]
    process += [field(6, FIELD_SECRETS["process_name"])]
    descriptor = [field(1, track), field(3, process)]
    setup = [field(10, 77), field(13, 1), field(12, interned), field(60, descriptor)]
    by_id = [field(4, [field(1, id_), field(17, id_)]) for id_ in fields]
    packets = [setup, [field(8, 1), *_event(track, 1000, by_id)]]
    for number, secret in enumerate(SECRETS.values()):
        notes = [field(4, part) for part in _annotations(number, secret)]
        packets.append([field(8, 100 + number), *_event(track, 1000 + number, notes)])
    packets.append([field(8, 999), field(45, [field(9, ALL)]), field(33, [field(29, ALL)])])
    packets.append([field(2, [field(1, [field(1, 1), field(3, ALL)])]), field(999, NO_TEXT)])
    packets.append([field(50, zlib.compress(ALL)), field(8, 5)])
    return b"".join(field(1, packet) for packet in packets)


def _event(track: int, name_id: int, notes: list[bytes]) -> list[bytes]:
    return [field(10, 77), field(11, [field(9, 3), field(11, track), field(10, name_id), *notes])]


def _annotations(number: int, secret: str) -> Iterable[list[bytes]]:
    yield [field(10, f"note {number}"), field(6, f"see {secret} there")]
    yield [field(10, f"nested {number}"), field(11, [field(10, "deeper"), field(6, secret)])]
    yield [field(10, f"list {number}"), field(12, [field(6, secret)]), field(12, [field(6, "x")])]
    yield [field(10, f"JSON {number}"), field(9, json.dumps({"deep": [secret]}))]
    yield [field(10, secret), field(4, number)]
    keyed = {} if number else {**FIELD_SECRETS, "host": SECRETS["host"]}
    for key, text in keyed.items():
        yield [field(10, key), field(6, text)]


def xplane_planes() -> bytes:
    """A plane with secrets in names, values and texts that values refer to, names of hosts, errors
    and bytes."""
    names = {1: "note", 2: "host", **dict(enumerate(FIELD_SECRETS, 10))}
    referred = dict(enumerate(FIELD_SECRETS.values(), 100))
    entries = [
        field(5, [field(1, id_), field(2, [field(1, id_), field(2, name)])])
        for id_, name in {**names, **referred}.items()
    ]
    stats = [[field(1, 1), field(5, f"see {secret} there")] for secret in SECRETS.values()]
    stats += [[field(1, 2), field(5, SECRETS["host"])], [field(1, 1), field(6, NO_TEXT)]]
    stats += [[field(1, 10 + n), field(7, 100 + n)] for n in range(len(FIELD_SECRETS))]
    stats += [[field(1, 10 + n), field(5, text)] for n, text in enumerate(FIELD_SECRETS.values())]
    metadata = [
        field(4, [field(1, id_), field(2, [field(1, id_), field(2, f"run {secret}")])])
        for id_, secret in enumerate(SECRETS.values(), 1)
    ]
    events = [field(4, [field(1, 1), field(2, 5), field(3, 10), *_stats(stats)])]
    line = [field(1, 9), field(2, SECRETS["user at host"]), field(3, 1), *events]
    plane = [field(2, f"/host:{SECRETS['host']}"), field(3, line), *metadata, *entries]
    plane += [field(6, part) for part in stats]
    around = [field(2, ALL), field(3, ALL), field(4, "trainbox42"), field(99, NO_TEXT)]
    return b"".join([field(1, plane), *around])


def _stats(stats: list[list[bytes]]) -> list[bytes]:
    return [field(4, part) for part in stats]


def paddle_entries() -> bytes:
    """More of the texts beside Paddle's nodes."""
    entries = [(f"note {n}", f"see {secret}") for n, secret in enumerate(SECRETS.values())]
    entries += [(secret, "x") for secret in SECRETS.values()]
    entries += [("host", SECRETS["host"]), *FIELD_SECRETS.items()]
    parts = [field(4, [field(1, key), field(2, value)]) for key, value in entries]
    return b"".join([*parts, field(99, NO_TEXT), field(98, [field(1, ALL), field(2, 3)])])
