"""Units of counters, against the names of Perfetto's own enumerations."""

from __future__ import annotations

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from tests.importers.pftrace.writer import event, message, packet, read_data, rows
from torch_tb_profiler.importers.pftrace.units import GPU_UNITS, gpu_unit, with_unit

MEASURES = protos.GpuCounterDescriptor.MeasureUnit
PREFIXES = {
    "KILO": "k", "MEGA": "M", "GIGA": "G", "TERA": "T", "NANO": "n", "MICRO": "u", "MILLI": "m",
}  # fmt: skip
SYMBOLS = {
    "BIT": "bit", "BYTE": "B", "HERTZ": "Hz", "SECOND": "s", "WATT": "W", "JOULE": "J",
    "VOLT": "V", "AMPERE": "A", "CELSIUS": "C", "PERCENT": "%",
}  # fmt: skip


def symbol(name: str) -> str:
    prefix = next((each for each in PREFIXES if name.startswith(each)), "")
    return PREFIXES.get(prefix, "") + SYMBOLS[name.removeprefix(prefix)]


def test_numbers_are_those_of_perfetto() -> None:
    assert {number: symbol(MEASURES.Name(number)) for number in GPU_UNITS} == GPU_UNITS


@pytest.mark.parametrize(
    ("numerator", "denominator", "unit"),
    [
        (["GIGABYTE"], ["SECOND"], "GB/s"),
        (["WATT", "SECOND"], [], "W*s"),
        (["PERCENT"], [], "%"),
        ([], ["SECOND"], ""),
        (["VERTEX"], ["SECOND"], ""),
        (["BYTE"], ["PIXEL"], ""),
    ],
)
def test_quotients(numerator: list[str], denominator: list[str], unit: str) -> None:
    assert gpu_unit(*(list(map(MEASURES.Value, each)) for each in (numerator, denominator))) == unit


def test_a_unit_is_written_once() -> None:
    assert with_unit("Power", "W") == "Power (W)" == with_unit("Power (W)", "W")
    assert with_unit("Cycles", "") == "Cycles" == with_unit("Cycles", None)


@pytest.mark.parametrize("piece_bytes", [1, 1 << 20])
def test_descriptors_of_gpu_counters_name_their_units(piece_bytes: int) -> None:
    trace = protos.Trace()
    trace.packet.add(timestamp=1, trusted_packet_sequence_id=1)
    gpu = trace.packet[0].gpu_counter_event
    gpu.gpu_id = 3
    spec = gpu.counter_descriptor.specs.add(counter_id=7, name="DRAM read")
    spec.numerator_units.append(MEASURES.Value("GIGABYTE"))
    spec.denominator_units.append(MEASURES.Value("SECOND"))
    gpu.counter_descriptor.specs.add(counter_id=8, name="Waves")
    for number, value in ((7, 2.5), (8, 4.0)):
        gpu.counters.add(counter_id=number, double_value=value)
    counters = rows(read_data(trace.SerializeToString(), piece_bytes), "counters")
    assert [(row["track"][0], row["name_code"], row["value"]) for row in counters] == [
        ("GPU 3 Counters", "DRAM read (GB/s)", 2.5),
        ("GPU 3 Counters", "Waves", 4.0),
    ]


def test_descriptors_of_tracks_name_their_units() -> None:
    described: dict[int, tuple[str, tuple[int, int | bytes]]] = {
        40: ("Power", (6, b"W")),
        41: ("Allocated", (3, 3)),
        42: ("Time", (3, 1)),
    }
    data = b"".join(
        packet((60, message((1, uuid), (2, name), (8, message(unit)))))
        for uuid, (name, unit) in described.items()
    )
    data += b"".join(event(uuid, 4, (11, uuid), (30, uuid)) for uuid in described)
    names = {row["name_code"] for row in rows(read_data(data), "counters")}
    assert names == {"Power (W)", "Allocated (B)", "Time (ns)"}
