"""Cases: a folder with runs, workers, spans and unknown files; what may not be written; damage;
packed files; names of the program and shapes on request."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.ascend import Run, write_text
from tests.helpers.discovered import looked_into
from torch_tb_profiler import scrub
from torch_tb_profiler.requests.errors import OpenError, RequestError
from torch_tb_profiler.scrubbing.copying import ScrubOptions, scrub_recording
from torch_tb_profiler.storage.locations import open_location

WriteTrace = Callable[..., Path]


def _structure(folder: Path) -> list[list[str]]:
    """Runs with the spans of their workers, in order, without the names of runs and workers."""
    runs: dict[str, dict[str, list[str]]] = {}
    for file in looked_into(open_location(str(folder))).files:
        runs.setdefault(file.run, {}).setdefault(file.worker, []).append(file.span)
    return [sorted(map(str, workers.values())) for workers in runs.values()]


def test_a_folder_has_the_same_runs_workers_and_spans(
    tmp_path: Path, write_trace: WriteTrace
) -> None:
    logs = tmp_path / "logs"
    for host, pid in (("gpu17", 4711), ("gpu17", 4712), ("gpu18", 99)):
        for stamp in (1700000000123, 1700000001123):
            write_trace(logs / "acme-llm" / f"{host}_{pid}.{stamp}.pt.trace.json")
    for rank in range(3):
        write_trace(logs / "other" / f"secretjob_rank{rank}.json")
    scrub(logs, tmp_path / "copy")
    assert _structure(tmp_path / "copy") == _structure(logs)
    names = " ".join(str(path) for path in (tmp_path / "copy").rglob("*"))
    assert not [each for each in ("gpu1", "4711", "99", "acme", "secretjob") if each in names]


def test_order_of_workers_follows_their_names(tmp_path: Path, write_trace: WriteTrace) -> None:
    for host in ("beta2", "beta10", "alpha"):
        write_trace(tmp_path / "in" / f"{host}.pt.trace.json", names=(host,), host_name=host)
    result = scrub(tmp_path / "in", tmp_path / "copy")
    targets = {file.source.split(".")[0]: file.target for file in result.files}
    files = looked_into(open_location(str(tmp_path / "copy"))).files
    assert [file.location.name for file in files] == [
        targets[name] for name in ("alpha", "beta2", "beta10")
    ]


def test_unknown_files_are_left_out_and_listed(tmp_path: Path, write_trace: WriteTrace) -> None:
    folder = tmp_path / "in"
    write_trace(folder / "trace.json")
    (folder / "notes.txt").write_text("password: hunter2")
    (folder / "page.json").write_text("<html>")
    os.symlink("/etc/passwd", folder / "link.json")
    result = scrub(folder, tmp_path / "copy")
    assert [file.target for file in result.files] == ["trace.json"]
    assert sorted(each.source for each in result.omitted) == ["link.json", "notes.txt", "page.json"]
    assert all(each.reason for each in result.omitted)
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["trace.json"]


@pytest.mark.parametrize("target", ["in", "in/copy", "in/deep/er", ".", "full", "file.json"])
def test_what_may_not_be_written(target: str, tmp_path: Path, write_trace: WriteTrace) -> None:
    write_trace(tmp_path / "in" / "trace.json")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "file.json").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RequestError):
        scrub(tmp_path / "in", tmp_path / target)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_to_the_original_is_the_original(tmp_path: Path, write_trace: WriteTrace) -> None:
    write_trace(tmp_path / "in" / "trace.json")
    os.symlink(tmp_path / "in", tmp_path / "link")
    with pytest.raises(RequestError, match="inside"):
        scrub(tmp_path / "in", tmp_path / "link" / "copy")


def test_the_copy_of_a_link_is_in_its_folder_only(tmp_path: Path) -> None:
    write_text(tmp_path / "real" / "rank0_ascend_pt", Run())
    os.symlink(tmp_path / "real", tmp_path / "link")
    result = scrub(tmp_path / "link", tmp_path / "out" / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out", "real"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["copy"]
    assert {file.target.partition("/")[0] for file in result.files} == {"rank0_ascend_pt"}


def test_nothing_to_copy_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(OpenError, match=r"notes\.txt"):
        scrub(tmp_path / "notes.txt", tmp_path / "copy.txt")
    assert not (tmp_path / "copy.txt").exists()


def test_packed_files_stay_packed(tmp_path: Path, write_trace: WriteTrace) -> None:
    plain = write_trace(tmp_path / "in" / "rank0.pt.trace.json")
    packed = tmp_path / "in" / "rank1.pt.trace.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    scrub(tmp_path / "in", tmp_path / "copy")
    copies = [tmp_path / "copy" / path.name for path in (plain, packed)]
    assert json.loads(copies[0].read_text()) == json.loads(gzip.decompress(copies[1].read_bytes()))


def _event(name: str, ts: str = "1.5", **more: Any) -> str:
    fields = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "dur": 1, **more}
    return json.dumps(fields)[:-1] + f', "ts": {ts}}}'


def test_numbers_stay_as_they_are_written(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    times = ["1695835424123456.789012", "12345678901234567890.5", "1e3", "0.10"]
    events = ", ".join(_event("aten::mm", ts) for ts in times)
    source.write_text(
        f'{{"schemaVersion": 1, "traceEvents": [{events}], "big": 12345678901234567}}'
    )
    scrub(source, tmp_path / "copy.json")
    text = (tmp_path / "copy.json").read_text()
    assert [time for time in (*times, "12345678901234567") if time not in text] == []


def test_damage_costs_only_itself(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    damaged = _event('load "/home/annlee/x.bin" now').replace('\\"', '"')
    events = ",\n".join([_event("aten::a"), damaged, _event("aten::b"), _event("aten::c")])
    source.write_text(f'{{"host_name": "gpu-node-17", "traceEvents": [{events}')
    result = scrub(source, tmp_path / "copy.json")
    document = json.loads((tmp_path / "copy.json").read_text())
    names = [event["name"] for event in document["traceEvents"]]
    assert names == ["aten::a", 'load "path-a" now', "aten::b", "aten::c"]
    assert document["host_name"] == "host-1"
    assert result.files[0].notes == ("quote repaired: 1", "truncated: 1")


@pytest.mark.parametrize("depth", [50, 300, 600, 5000])
def test_lists_that_are_too_deep_cost_only_themselves(depth: int, tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    deep = '{"deep": ' + "[" * depth + '"/home/annlee/x"' + "]" * depth + "}"
    event = _event("aten::a")[:-1] + f', "args": {deep}}}'
    events = ",\n".join([_event("aten::b"), event, _event("aten::c"), _event("aten::d")])
    source.write_text(f'{{"traceEvents": [{events}]}}')
    scrub(source, tmp_path / "copy.json")
    text = (tmp_path / "copy.json").read_text()
    assert "annlee" not in text
    assert all(f"aten::{name}" in text for name in "bcd")


def test_unknown_keys_stay_unless_they_are_private(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    header = {"myKey": {"answer": 42, "note": "see /home/annlee/x"}, "api_token": "plain"}
    environment = {"OMP_NUM_THREADS": "8", "OTHER": "x", "CUDA_VISIBLE_DEVICES": "0,1"}
    settings = {"program_settings": {"environment": environment}}
    event = json.loads(_event("aten::mm", args={"mine": "fine", "Ev Idx": 3}, unknown="kept"))
    source.write_text(json.dumps({**header, **settings, "traceEvents": [event]}))
    scrub(source, tmp_path / "copy.json")
    document = json.loads((tmp_path / "copy.json").read_text())
    assert document["myKey"] == {"answer": 42, "note": "see path-a"}
    assert "api_token" not in document
    assert document["program_settings"]["environment"] == {
        "OMP_NUM_THREADS": "8",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    assert document["traceEvents"] == [event]


def test_shapes_go_on_request(tmp_path: Path) -> None:
    source = tmp_path / "in.json"
    args = {"Input Dims": [[512, 4096]], "Input type": ["float"], "Concrete Inputs": ["7"]}
    source.write_text(json.dumps({"traceEvents": [json.loads(_event("aten::mm", args=args))]}))
    result = scrub(source, tmp_path / "copy.json", shapes=False)
    document = json.loads((tmp_path / "copy.json").read_text())
    assert document["traceEvents"][0]["args"] == {"Input type": ["float"]}
    assert "shape" in {each.kind for each in result.removed}
    plain = scrub(source, tmp_path / "plain.json")
    assert any("shapes" in each.title for each in plain.remaining)


def test_names_of_the_program_are_hashed_alike_under_one_salt(tmp_path: Path) -> None:
    names = ["acme_fused_mlp_kernel", "nn.Module: AcmeBlock_3", "grobfile.py(7): frobnicate"]
    known = ["aten::mm", "ProfilerStep#3", "torch/nn/modules/linear.py(125): forward"]
    for word in ("one", "two"):
        events = [json.loads(_event(name)) for name in (*names, *known)]
        path = tmp_path / "in" / f"trace_{word}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"traceEvents": events}))
    copies = []
    for copy, salt in (("a", "pepper"), ("b", "pepper"), ("c", None)):
        options = ScrubOptions(hashes_names=True, salt=salt)
        result = scrub_recording(str(tmp_path / "in"), str(tmp_path / copy), options)
        for file in result.files:
            document = json.loads((tmp_path / copy / file.target).read_text())
            copies.append([event["name"] for event in document["traceEvents"]])
    assert copies[0] == copies[1] == copies[2] == copies[3] != copies[4]
    assert copies[0][3:] == known
    spelled = " ".join(copies[0][:3]).lower()
    assert not [word for word in ("acme", "frobnicate", "grobfile") if word in spelled]
    assert spelled.count("kernel") == 1
    assert "_3" in copies[0][1]
