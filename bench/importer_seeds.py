"""Small whole recordings of the formats that are no Chrome JSON, to be damaged.

Those of the shared corpus, where it stands beside the checkout, with the first rows of their tables
and files; and the made up exports of the tests.
"""

from __future__ import annotations

import gzip
import json
import pickle
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
sys.path.insert(0, str(ROOT))

from importer_damages import SQLITE, Recording  # noqa: E402

from tests.helpers import chakra, flight_dumps, nsys, proton, recorder, rocprof_files, xplane  # noqa: E402

ROWS = 25
"""Of each table or file so many are left."""
MAX_TEXT_BYTES = 4000
MAX_PROTOBUF_BYTES = 6000

MADE = (nsys.training, nsys.graph_nodes, nsys.whole_graphs, nsys.gpu_metrics)


def recordings() -> list[Recording]:
    """Every seed there is."""
    return [
        *_exports(),
        *_amd_recordings(),
        *_protobufs(),
        *_folders(),
        *_journals(),
        *_executions(),
        *_flight_dumps(),
    ]


def _flight_dumps() -> Iterator[Recording]:
    for path in sorted((ROOT / "tests" / "data" / "hangs").glob("*/fr_trace_*")):
        yield _file("flight_recorder", path.name, path.read_bytes())
    dump = {**flight_dumps.planted(1, "skip").dumps[0]}
    dump["entries"] = dump["entries"][-ROWS:]
    yield _file("flight_recorder", "fr_trace_rank_0", pickle.dumps(dump, 2))
    yield _file("flight_recorder", "fr_trace_0.json", json.dumps(dump).encode())


def _executions() -> Iterator[Recording]:
    yield _file("execution", "rank0.et", chakra.example())
    for path in sorted((ROOT / "tests" / "data" / "execution").glob("et_*.json.gz")):
        content = json.loads(gzip.decompress(path.read_bytes()))
        content["nodes"] = content["nodes"][:ROWS]
        yield _file("execution", path.name.removesuffix(".gz"), json.dumps(content).encode())


def _exports() -> Iterator[Recording]:
    with tempfile.TemporaryDirectory() as folder:
        for number, make in enumerate(MADE):
            path = nsys.write_export(Path(folder) / f"{number}.sqlite", make())
            yield _file("nsys", path.name, path.read_bytes())
    for path in sorted(CORPUS.glob("nsight/*/*.sqlite")):
        if path.stem != "not_sqlite":
            yield _file("nsys", path.name, small_database(path))


def _amd_recordings() -> Iterator[Recording]:
    with tempfile.TemporaryDirectory() as folder:
        for path in rocprof_files.write_all(Path(folder)):
            yield _file("rocprof", path.name, path.read_bytes())


def _protobufs() -> Iterator[Recording]:
    for path in sorted(CORPUS.glob("paddle*/oracle/*.pb")):
        data = path.read_bytes()
        yield _file("paddle", path.name, data[:MAX_PROTOBUF_BYTES])
        yield _file("paddle", path.name, data[:500] + data[-MAX_PROTOBUF_BYTES:])
    profile = proton.decode()
    yield _file("proton", "decode.hatchet", proton.as_json(profile))
    yield _file("proton", "decode.hatchet_msgpack", proton.as_msgpack(profile))
    yield _file("proton", "streams.chrome_trace", proton.streams())
    for name, data in (("tpu", xplane.tpu_file()), ("gpu", xplane.gpu_file())):
        yield _file("xplane", f"{name}.xplane.pb", data)
        yield _file("xplane", f"{name}.xplane.pb.gz", gzip.compress(data))
    for path in sorted(CORPUS.glob("pftrace/*.pftrace.gz")):
        data = gzip.decompress(path.read_bytes())
        name = path.name.removesuffix(".gz")
        for size in (MAX_PROTOBUF_BYTES, 4 * MAX_PROTOBUF_BYTES):
            yield _file("pftrace", name, data[:size])
        yield _file("pftrace", path.name, gzip.compress(data[:MAX_PROTOBUF_BYTES]))


def _folders() -> Iterator[Recording]:
    for path in sorted(CORPUS.glob("ascend_torch_npu/*/*/*_ascend_pt")):
        yield _folder("ascend", path)
    for name in ("minddata_pipelines", "profiler", "run_1_normal_run_profiler"):
        path = CORPUS / "mindspore_r1" / name
        if path.is_dir():
            yield _folder("mindspore", path)


def _journals() -> Iterator[Recording]:
    shapes = (
        recorder.Run(steps=6, gpus=1, evaluate_every=3, windows=((2, 3),), rows_per_block=3),
        recorder.Run(steps=4, workers=0, pin_ms=0.1, rank=None, ended=None),
    )
    for number, run in enumerate(shapes):
        text = recorder.text_of(recorder.blocks_of(run))
        yield _file("record", f"rank{number}.record.jsonl", text)
        yield _file("record", f"rank{number}.record.jsonl.gz", gzip.compress(text))


def _file(format_name: str, name: str, data: bytes) -> Recording:
    return Recording(format_name, name, {name: data})


def _folder(format_name: str, folder: Path) -> Recording:
    files = {
        str(path.relative_to(folder)): small_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return Recording(format_name, folder.name, files, is_folder=True)


def small_file(path: Path) -> bytes:
    """The beginning of a file, whole as far as its kind goes."""
    if path.suffix in SQLITE:
        return small_database(path)
    data = path.read_bytes()
    if path.suffix == ".json":
        return json.dumps(_small(json.loads(data))).encode()
    lines = data.splitlines(keepends=True)[:ROWS]
    return b"".join(lines)[:MAX_TEXT_BYTES]


def _small(value: Any) -> Any:
    """Lists with their first elements, of events two of each kind."""
    if isinstance(value, dict):
        return {key: _small(each) for key, each in list(value.items())[:ROWS]}
    if not isinstance(value, list):
        return value
    kinds: dict[tuple[str, str], int] = {}
    kept = []
    for each in value:
        told = each if isinstance(each, dict) else {}
        kind = str(told.get("ph")), str(told.get("cat"))
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= ROWS // 2:
            kept.append(_small(each))
    return kept


def small_database(path: Path) -> bytes:
    """A database with the first rows of each table, and the texts that they name."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        copy.write_bytes(path.read_bytes())
        with closing(sqlite3.connect(copy, isolation_level=None)) as file:
            file.text_factory = bytes
            tables = [
                name.decode()
                for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            for table in tables:
                if table not in {"StringIds", "STRING_IDS"}:
                    file.execute(f'DELETE FROM "{table}" WHERE rowid > {ROWS}')
            for table in {"StringIds", "STRING_IDS"} & set(tables):
                file.execute(f'UPDATE "{table}" SET value = substr(value, 1, 60)')
                file.execute(f'DELETE FROM "{table}" WHERE id > 600')
            file.execute("VACUUM")
        return copy.read_bytes()
