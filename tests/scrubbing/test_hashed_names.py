"""Copies with hashed names: figures are equal, as they are compared, and no name of the program is
left. Cases: folders of torch_npu and MindSpore, Perfetto's file, an execution trace."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.ascend import Run, write_text
from tests.scrubbing.planted_messages import field
from torch_tb_profiler import scrub
from torch_tb_profiler.scrubbing import copying

DATA = Path(__file__).parents[1] / "data"


def _bytes(folder: Path) -> bytes:
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return b"".join(gzip.decompress(each) if each[:2] == b"\x1f\x8b" else each for each in files)


def test_folders_of_ascend(tmp_path: Path) -> None:
    write_text(tmp_path / "in" / "rank0_ascend_pt", Run())
    result = scrub(tmp_path / "in", tmp_path / "copy", hash_names=True)
    assert [each for each in result.omitted if each.is_recording] == []
    assert len(result.files) > 3


@pytest.mark.parametrize("name", ["profiler", "run_1_excerpt"])
def test_folders_of_mindspore(name: str, tmp_path: Path) -> None:
    original = tmp_path / "in" / name
    shutil.copytree(DATA / "mindspore_r1" / name, original)
    for path in [*original.glob("*.txt"), *original.glob("*.csv"), *original.glob("*.json")]:
        path.write_text(path.read_text().replace("LeNet5", "ZorgNet5").replace("WideDeep", "Zorg"))
    before = _bytes(original)
    result = scrub(tmp_path / "in", tmp_path / "copy", hash_names=True)
    assert {each.source for each in result.omitted if each.is_recording} == set()
    assert b"Zorg" in before
    assert b"Zorg" not in _bytes(tmp_path / "copy")


def test_perfetto(tmp_path: Path) -> None:
    source = DATA / "pftrace" / "chromium.pftrace.gz"
    result = scrub(source, tmp_path / "copy.pftrace.gz", hash_names=True)
    assert len(result.files) == 1


EVENT = {"ph": "X", "pid": 1, "tid": 1, "ts": 10, "dur": 50}


def _trace(**more: Any) -> str:
    events = [
        {**EVENT, "cat": "cpu_op", "name": "aten::mm"},
        {**EVENT, "cat": "user_annotation", "name": "zorgblatt_phase"},
        {**EVENT, "cat": "kernel", "name": "zorgblatt_gemm", "pid": 0, "tid": 7},
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": events, **more})


def test_traces_are_compared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.json").write_text(_trace())
    scrub(tmp_path / "in.json", tmp_path / "copy.json", hash_names=True)
    text = (tmp_path / "copy.json").read_text()
    assert "zorgblatt" not in text
    assert "_gemm" in text
    (tmp_path / "in2").mkdir()
    (tmp_path / "in2" / "rank0.json").write_text(_trace())
    (tmp_path / "in2" / "rank1.json").write_text(_trace(distributedInfo={"rank": 1}))
    differences = iter(["view kernels, table kernels", None])
    monkeypatch.setattr(copying, "first_difference", lambda *_: next(differences))
    result = scrub(tmp_path / "in2", tmp_path / "copy2", hash_names=True)
    assert [each.source for each in result.files] == ["rank1.json"]
    assert [path.name for path in (tmp_path / "copy2").iterdir()] == ["rank1.json"]
    (omitted,) = result.omitted
    assert omitted.is_recording
    assert "table kernels. A view recognizes names by words that --hash-names" in omitted.reason


def test_an_execution_trace(tmp_path: Path) -> None:
    nodes = [
        {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "attrs": []},
        {
            "id": 2, "name": "zorgblatt::mm", "ctrl_deps": 1,
            "inputs": {"values": [[3, 4, 0, 4, 4, "cpu"]], "shapes": [[2, 2]],
                       "types": ["Tensor(nullptr (uninitialized))"]},
            "attrs": [
                {"name": "fw_tid", "type": "uint64", "value": 0},
                {"name": "op_schema", "type": "string",
                 "value": "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False)"},
            ],
        },
    ]  # fmt: skip
    document = {"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": nodes}
    (tmp_path / "et.json").write_text(json.dumps(document))
    scrub(tmp_path / "et.json", tmp_path / "copy.json", hash_names=True)
    copy = json.loads((tmp_path / "copy.json").read_text())
    assert copy["schema"] == document["schema"]
    assert copy["nodes"][1]["attrs"] == nodes[1]["attrs"]
    assert copy["nodes"][1]["inputs"] == nodes[1]["inputs"]
    assert "zorgblatt" not in copy["nodes"][1]["name"]


def test_names_of_arguments_in_perfetto(tmp_path: Path) -> None:
    """They are keys, by which arguments are recognized."""
    interned = field(3, [field(1, 1), field(2, "In msg nelems")])
    note = field(4, [field(10, "Group Zorgsize"), field(6, "zorgblatt")])
    event = field(11, [field(9, 3), field(11, 42), field(23, "zorgblatt"), note])
    chrome = field(53, [field(6, [field(1, "Out msg nelems"), field(2, "zorgblatt")])])
    packets = [
        [field(10, 7), field(13, 1), field(12, [interned]), field(60, [field(1, 42)])],
        [field(8, 5), field(10, 7), event],
        [field(8, 6), field(10, 7), chrome],
    ]
    trace = tmp_path / "trace.pftrace"
    trace.write_bytes(b"".join(field(1, packet) for packet in packets))
    scrub(trace, tmp_path / "copy.pftrace", hash_names=True)
    data = (tmp_path / "copy.pftrace").read_bytes()
    keys = (b"In msg nelems", b"Group Zorgsize", b"Out msg nelems")
    assert [key for key in keys if key not in data] == []
    assert b"zorgblatt" not in data
