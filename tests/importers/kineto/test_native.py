"""Cases: both decoders make equal columns of every sample, of odd values and of mutated pieces;
without the compiled one everything is read; it is built where a compiler is."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import fuzz_decoder
from tests.importers.kineto.reference import assert_same_columns
from torch_tb_profiler.importers.kineto import native
from torch_tb_profiler.importers.kineto.batch import build_batch
from torch_tb_profiler.importers.kineto.decode import decode_events
from torch_tb_profiler.importers.kineto.event_arrays import decode_arrays
from torch_tb_profiler.importers.kineto.event_structs import StructEvents
from torch_tb_profiler.importers.kineto.native import NativeDecoder, native_status
from torch_tb_profiler.importers.kineto.native_answer import OddPieceError
from torch_tb_profiler.importers.kineto.pieces import EventPieces
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.trace.columns import ABSENT, EventColumns

ROOT = Path(__file__).resolve().parents[3]
PIECE_BYTES = 1 << 18


@pytest.fixture(name="decoder")
def compiled_decoder() -> NativeDecoder:
    decoder = native_status().decoder
    if decoder is None:
        pytest.skip(native_status().description)
    return decoder


def test_it_is_built_where_a_compiler_is() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no Rust compiler here")
    assert native_status().decoder is not None, native_status().description


def sample_texts(samples: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(samples.rglob("*.pt.trace.json*")):
        content = path.read_bytes()
        yield path.name, gzip.decompress(content) if path.suffix == ".gz" else content


def read(text: bytes) -> EventColumns:
    return read_text([text], name="x", piece_bytes=PIECE_BYTES)


def test_samples(decoder: NativeDecoder, samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    for name, text in sample_texts(samples):
        compiled = read(text)
        with monkeypatch.context() as patch:
            patch.setattr(native_status(), "decoder", None)
            expected = read(text)
        assert_same_columns(expected, compiled)
        assert expected.tables.keys() == compiled.tables.keys(), name
        count += 1
    assert count >= 5


def test_no_piece_of_a_sample_is_handed_back(decoder: NativeDecoder, samples: Path) -> None:
    for name, text in sample_texts(samples):
        for piece in EventPieces(iter([text]), PIECE_BYTES):
            if not piece.is_last:
                assert len(decode_arrays(decoder, piece.text)) > 0, name


EVENT = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 5, "dur": 1%s}'
ODD_ARGUMENTS = (
    '"External id": "7"', '"External id": null', '"External id": 5.0', '"External id": true',
    '"External id": 9223372036854775808', '"External id": -9223372036854775808',
    '"Sequence number": "N/A"', '"Sequence number": [1]', '"flops": "2e9"', '"flops": 2.5e15',
    '"flops": 123456789012345678901', '"kernel_flop": null', '"Input Dims": [[1,\n 2]]',
    '"Input Dims": "none"', '"Call stack": "b;a; "', '"Call stack": 7, "python_caller_id": "3"',
    '"Process Group Name": 1.0', '"In msg nelems": null',
    '"In msg nelems": -9223372036854775808', '"Collective name": {"a": 1}',
    '"Module Hierarchy": "\\u00e9\\"x"', '"Fwd thread id": -0',
)  # fmt: skip
ODD_MEMBERS = (
    '"ts": "12.5"', '"ts": null', '"ts": -3.25', '"ts": 1e3', '"ts": 7.0005', '"ts": 7.00050000001',
    '"dur": "x"', '"dur": 99999999999999999999', '"name": null', '"name": ["a"]', '"name": 1.0',
    '"pid": [1]', '"pid": true', '"pid": 1.0', '"pid": null', '"tid": {"a": 1}', '"cat": ["a"]',
    '"cat": 3', '"ph": 1', '"id": null', '"id": {"x": 1}',
)  # fmt: skip


def odd_pieces() -> Iterator[str]:
    for argument in ODD_ARGUMENTS:
        yield EVENT % f', "args": {{{argument}}}'
    for member in ODD_MEMBERS:
        key = member.partition(":")[0]
        yield "{" + ", ".join(
            [member, *(m for m in (EVENT % "")[1:-1].split(", ") if not m.startswith(key))]
        ) + "}"  # fmt: skip


def test_odd_values(decoder: NativeDecoder) -> None:
    """Each in a piece of its own, and between plain events."""
    for event in odd_pieces():
        for around in ((), (EVENT % "", EVENT % ', "args": {"External id": 3}')):
            text = f"[{','.join([*around, event, *around])}]".encode()
            events = decode_events(text)
            assert events is not None, event
            expected = build_batch(StructEvents(events))
            compiled = build_batch(decode_arrays(decoder, text))
            difference = fuzz_decoder.difference(compiled, expected)
            assert difference is None, (event, difference)


@pytest.mark.parametrize(
    "text",
    [
        '[{"ph": "X", "ph": "M"}]',
        '[{"name": "a\tb"}]',
        '[{"name": "\\ud800"}]',
        '[{"name": "\\x"}]',
        '[{"n\\u0061me": "a"}]',
        '[{"args": []}]',
        '[{"ph": "X", "args": {"External id": 1, "External id": 2}}]',
        '[{"pid": 1, "name": "x", "note": "a\\"pid"}]',
        '[{"ts": 01}]',
        '[{"id": 1e400}]',
        "[{}, ]",
        "[{}] 1",
        "[" + "[" * 60 + "]" * 60 + "]",
        "[{" + '"a": [' * 60 + "]" * 60 + "}]",
    ],
)
def test_what_is_handed_back(decoder: NativeDecoder, text: str) -> None:
    with pytest.raises(OddPieceError):
        decode_arrays(decoder, text.encode())


def test_arguments_before_the_category(decoder: NativeDecoder) -> None:
    event = (
        '{"args": {"External id": 4}, "ts": 1, "name": "a", "ph": "X", "pid": 1, "cat": "cpu_op"}'
    )
    batch = build_batch(decode_arrays(decoder, f"[{event}]".encode()))
    assert batch.tables["slices"][0]["external_id"].tolist() == [4]
    assert batch.tables["slices"][0]["dur_ns"].tolist() == [ABSENT]


def test_a_piece_with_thousands_of_categories(decoder: NativeDecoder) -> None:
    events = ",".join(f'{{"ph": "X", "cat": "c{n}", "ts": {n}, "dur": 1}}' for n in range(3000))
    with pytest.raises(OddPieceError):
        decode_arrays(decoder, f"[{events}]".encode())
    few = ",".join(f'{{"ph": "X", "cat": "d{n}", "ts": {n}, "dur": 1}}' for n in range(900))
    assert len(decode_arrays(decoder, f"[{few}]".encode())) == 900


def test_mutated_pieces(decoder: NativeDecoder, samples: Path) -> None:
    pieces = fuzz_decoder.seeds([samples / "h100_bert_small", samples / "cpu_resnet_full"])
    counts, different = fuzz_decoder.fuzz(pieces, 3000, seed=20)
    assert not different
    assert counts["pieces"] - counts["handed_back"] > 600


@pytest.mark.alone
def test_its_own_tests() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no Rust compiler here")
    command = ["cargo", "test", "--quiet", "--manifest-path", str(ROOT / "native" / "Cargo.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test result: ok" in done.stdout


@pytest.mark.alone
def test_the_guided_fuzzer_finds_no_fault(decoder: NativeDecoder, samples: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no Rust compiler here")
    seeds = fuzz_decoder.seeds([samples / "h100_bert_small"])
    pieces = fuzz_decoder.guided(seeds, 3, seed=5)
    comparison = fuzz_decoder.Comparison(decoder)
    for piece in pieces:
        comparison.add(piece)
    comparison.finish()
    assert not comparison.different
    assert len(pieces) > 20


def test_without_it(tmp_path: Path) -> None:
    """Left out by the switch, in a process of its own: the report is there, the version says so."""
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": [json.loads(EVENT % "")]}))
    environment = {"TORCH_TB_PROFILER_NATIVE": "0", "PYTHONPATH": str(ROOT)}
    program = [sys.executable, "-m", "torch_tb_profiler"]

    def run(*arguments: str) -> str:
        command = [*program, *arguments]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        return done.stdout.decode()

    assert "at a third of the speed: TORCH_TB_PROFILER_NATIVE=0 is set" in run("--version")
    assert "aten" not in run("report", str(path), "--view", "operators", "--no-cache")


def test_a_library_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "decoder.so").write_bytes(b"no library")
    monkeypatch.setattr(native, "LIBRARY_FOLDER", tmp_path)
    status = native.NativeStatus()
    assert status.decoder is None
    assert "cannot be loaded" in status.description
    monkeypatch.setattr(native, "LIBRARY_FOLDER", tmp_path / "nothing")
    assert "installed without the compiled one" in native.NativeStatus().description
