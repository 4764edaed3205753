"""The environment, outputs, command lines, users, hosts and paths of an export reach neither the
trace nor the cache folder nor an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.importers.nsys.exports import (
    CALL,
    KERNEL,
    call,
    global_pid,
    global_tid,
    kernel,
    strings,
    write_export,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers.nsys.reader import read_export
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.loading.ingest.summaries import save_summary
from torch_tb_profiler.reports.chrome_trace import chrome_json
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.cache import save_trace

SECRET = "hunter2"


def planted(what: str) -> str:
    return f"{SECRET} of {what}"


THREAD = global_tid(10, 10)
TABLES: dict[str, list[dict[str, Any]]] = {
    "StringIds": [
        *strings("f", "cudaLaunchKernel_v7000", "python", f"dlopen(/home/{SECRET}/lib.so)"),
        {"id": 50, "value": f"PATH=/bin\0API_KEY={SECRET}\0"},
        {"id": 51, "value": planted("stdout")},
        {"id": 52, "value": f"/home/{SECRET}/stdout.log"},
    ],
    "META_DATA_CAPTURE": [
        {"name": "PROCESS_1:ENVIRONMENT_VARIABLE_3", "value": f"TOKEN={SECRET}"},
        {"name": "PROCESS_1:COMMAND_LINE", "value": planted("command line")},
        {"name": "CUDA_GRAPH_TRACE_OPTIONS:MODE", "value": planted("mode")},
        {"name": "DEVICE_DISPLAY_NAME", "value": planted("host")},
    ],
    "META_DATA_EXPORT": [
        {"name": "EXPORT_SCHEMA_VERSION", "value": "3.25.0"},
        {"name": "EXPORT_PRODUCT_VERSION", "value": planted("version")},
        {"name": "EXPORT_HOST", "value": planted("host")},
        {"name": "EXPORT_USER", "value": planted("user")},
        {"name": "EXPORT_OUTPUT", "value": f"/home/{SECRET}/x.sqlite"},
    ],
    "TARGET_INFO_SYSTEM_ENV": [
        {"globalVid": 1, "name": "DeviceEnvironment", "value": f"KEY={SECRET}"},
        {"globalVid": 1, "name": "Hostname", "value": planted("host")},
    ],
    "ProcessStreams": [{"globalPid": global_pid(10), "filenameId": 52, "contentId": 51}],
    "ANALYSIS_FILE": [{"id": 1, "filename": f"/{SECRET}", "contentId": 50, "globalPid": 1}],
    "PROCESSES": [
        {"globalPid": global_pid(10), "pid": 10, "name": f"/home/{SECRET}/python t.py -k {SECRET}"}
    ],
    "ThreadNames": [{"nameId": 3, "priority": 1, "globalTid": THREAD}],
    "DIAGNOSTIC_EVENT": [
        {"severity": severity, "text": f"{text} /home/{SECRET}", "globalPid": 1}
        for severity, text in ((2, "odd"), (3, "bad"), (2, "Some events were dropped in"))
    ],
    "PROFILER_OVERHEAD": [{"start": 1, "end": 2, "globalTid": THREAD, "nameId": 4}],
    "NVTX_EVENTS": [
        {"start": 0, "end": 80, "eventType": 59, "text": "step", "globalTid": THREAD,
         "jsonText": planted("json"), "binaryData": SECRET.encode()}
    ],
    CALL: [call(10, 20, 2, callchainId=51)],
    KERNEL: [kernel(30, 60)],
}  # fmt: skip


def test_no_secret_is_stored(tmp_path: Path) -> None:
    path = write_export(tmp_path / "x.sqlite", TABLES)
    assert SECRET.encode() in path.read_bytes()
    columns = read_export(str(path), "x.sqlite", Reading())
    assert SECRET not in repr((columns.strings, columns.tracks, columns.info, columns.quality))
    assert columns.quality.counts["nsys_warnings"] == 1
    assert columns.quality.counts["nsys_errors"] == 1
    assert columns.quality.counts["nsys_events_dropped"] == 1
    trace = build_trace(columns)
    assert trace.tracks["process_name"].to_list()[0] == "python"
    stored = tmp_path / "kept"
    stored.mkdir()
    save_trace(trace, stored)
    save_summary(trace, stored)
    for file in stored.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file.name
    assert SECRET not in b"".join(chrome_json(trace, Selection())).decode()


def test_no_answer_has_a_secret(tmp_path: Path) -> None:
    path = write_export(tmp_path / "x.sqlite", TABLES)
    with open_trace(path, cache_dir=tmp_path / "cache") as opened:
        answered = 0
        for name, reason in opened.views().items():
            if reason is None:
                answered += 1
                text = opened.view(name).to_json().decode()
                assert SECRET not in json.dumps(json.loads(text)), name
            else:
                assert SECRET not in reason
    assert answered > 5
    for file in (tmp_path / "cache").rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file.name
