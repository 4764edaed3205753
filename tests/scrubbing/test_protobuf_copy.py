"""Figures are compared by the copy itself, which is refused where one differs. Cases: recordings of
three formats with secrets in texts, names, values by name, texts that values refer to, bytes and
unknown fields; real ones; files that are cut, deep, or claim long fields; texts that look like
messages; the same numbers for another reader."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import xplane
from tests.scrubbing import planted, planted_messages
from tests.scrubbing.planted_messages import field
from torch_tb_profiler import scrub
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.knowledge.scrubbing import message_rules
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.scrubbing import copying
from torch_tb_profiler.scrubbing.cell_values import CellScrubber
from torch_tb_profiler.scrubbing.json_values import JsonScrubber
from torch_tb_profiler.scrubbing.learning import LearnedNames
from torch_tb_profiler.scrubbing.message_walk import MessageWalk
from torch_tb_profiler.scrubbing.protobuf_copy import protobuf_copy
from torch_tb_profiler.scrubbing.remaining import RemainingCollector
from torch_tb_profiler.scrubbing.replacements import Replacements
from torch_tb_profiler.scrubbing.texts import TextScrubber
from torch_tb_profiler.trace.quality import QualityReport

DATA = Path(__file__).parents[1] / "data"

PLANTED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "cpu.pftrace": ("pftrace/cpu.pftrace.gz", planted_messages.perfetto_packets),
    "gpu-node-17.xplane.pb": ("jax_cpu.xplane.pb.gz", planted_messages.xplane_planes),
    "x.paddle_trace.pb": ("paddle/device.paddle_trace.pb.gz", planted_messages.paddle_entries),
}
"""Name → the recording, and what is added to it."""

REAL = (
    "pftrace/attention_gym/hello_world_training_loop_monitor.pftrace",
    "pftrace/torch2141_synthetic_gpu.pftrace.gz",
    "paddle_3.3.1/oracle/w2.paddle_trace.pb",
)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_secrets(name: str, tmp_path: Path) -> None:
    recording, more = PLANTED[name]
    source = tmp_path / "in" / name
    source.parent.mkdir()
    source.write_bytes(planted.unpacked(DATA / recording) + more())
    missing = planted.private_texts() - planted.leaks(source.parent)
    assert missing <= {*planted.FIELD_SECRETS.values(), *planted.SECRETS.values()} - {"annlee"}
    result = scrub(source.parent, tmp_path / "copy")
    assert result.omitted == ()
    assert planted.leaks(tmp_path / "copy") == set()


@pytest.mark.parametrize("name", REAL)
def test_real_recordings(name: str, corpus: Path, tmp_path: Path) -> None:
    scrub(corpus / name, tmp_path / Path(name).name)
    copy = tmp_path / Path(name).name
    assert planted.unpacked(copy)[:1] == planted.unpacked(corpus / name)[:1]


def test_another_reader_has_the_same_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "first_difference", lambda *_: None)
    source = tmp_path / "in.xplane.pb"
    source.write_bytes(planted.unpacked(DATA / "jax_cpu.xplane.pb.gz"))
    scrub(source, tmp_path / "copy.xplane.pb")
    sides = [xplane.parse(path.read_bytes()) for path in (source, tmp_path / "copy.xplane.pb")]
    figures = [
        [
            (line.timestamp_ns, event.metadata_id, event.offset_ps, event.duration_ps)
            for plane in side.planes
            for line in plane.lines
            for event in line.events
        ]
        for side in sides
    ]
    assert figures[0] == figures[1]
    assert len(figures[0]) > 100


def test_an_unchanged_recording_is_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "first_difference", lambda *_: None)
    source = DATA / "paddle" / "device.paddle_trace.pb.gz"
    scrub(source, tmp_path / "copy.paddle_trace.pb")
    assert (tmp_path / "copy.paddle_trace.pb").read_bytes() == gzip.decompress(source.read_bytes())


def _walked(content: bytes) -> bytes | None:
    """A field of the file with every text in upper case."""
    rules = message_rules("paddle")
    assert rules is not None
    return MessageWalk(rules, lambda _, text: text.upper(), lambda *_: None).rewritten(9, content)


def test_lengths_follow_texts() -> None:
    message = field(1, [field(1, "ab"), field(2, 300), field(3, [field(1, "cd"), field(2, 1)])])
    assert _walked(message) == field(
        1, [field(1, "AB"), field(2, 300), field(3, [field(1, "CD"), field(2, 1)])]
    )


@pytest.mark.parametrize(
    ("content", "result"),
    [
        (b"plain text", b"PLAIN TEXT"),
        (b"two\nlines\t", b"TWO\nLINES\t"),
        (b"\xff\xfe", b""),
        (b"\x00\x01", b""),
        (field(4, "x" * 33), field(4, "X" * 33)),
        (field(1, "a") + b"\xff", b""),
        ("größe".encode(), "GRÖSSE".encode()),
        (b"", b""),
    ],
)
def test_what_is_text_what_a_message_and_what_neither(content: bytes, result: bytes) -> None:
    assert _walked(field(7, content)) == field(7, result)


def test_deep_messages_end_without_what_is_deepest() -> None:
    message = b"secret"
    for _ in range(5000):
        message = field(1, message)
    copy = _walked(message)
    assert copy is not None
    assert b"secret" not in copy.lower()


def _copied(data: bytes) -> tuple[bytes, int]:
    """The copy of a file of Perfetto, and whether its end is missing."""
    rules, quality, replacements = message_rules("pftrace"), QualityReport(), Replacements()
    assert rules is not None
    texts = TextScrubber(replacements, LearnedNames(replacements), hashes_names=False)
    values = JsonScrubber(texts, RemainingCollector(counts_names=False), removes_shapes=False)
    cells = CellScrubber(values, values, texts)
    chunks = [data[at : at + 5000] for at in range(0, len(data), 5000)]
    copy = b"".join(protobuf_copy(lambda: chunks, rules, cells, quality))
    return copy, quality.counts.get("truncated", 0)


@pytest.mark.parametrize(
    "rest",
    [
        b"\x0a",
        b"\x0a\x80\x80\x80\x80\x04",  # 1 GiB
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x0a\x10abc",
        b"\x0b",
    ],
)
def test_claims_of_length_take_no_memory(rest: bytes) -> None:
    data = field(1, [field(8, 5), field(11, [field(23, "aten::mm")])]) * 100
    tracemalloc.start()
    try:
        assert _copied(data + rest) == (data, 1)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_a_file_that_is_cut() -> None:
    packet = field(1, [field(8, 5), field(11, [field(23, "aten::mm")])])
    for size in range(len(packet), 3 * len(packet)):
        whole = size // len(packet) * len(packet)
        assert _copied((packet * 3)[:size]) == ((packet * 3)[:whole], int(size != whole))
    for size in range(len(packet)):
        with pytest.raises(TraceFormatError, match="first field"):
            _copied(packet[:size])


def test_what_importers_refuse_is_refused_with_their_reason(tmp_path: Path) -> None:
    source = tmp_path / "in.xplane.pb"
    source.write_bytes(planted.unpacked(DATA / "jax_cpu.xplane.pb.gz")[:200])
    with pytest.raises(OpenError, match="without events"):
        scrub(source, tmp_path / "copy.xplane.pb")
    assert not (tmp_path / "copy.xplane.pb").exists()
