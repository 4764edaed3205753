"""Requested arguments of Paddle's JSON, compared with what ``json`` reads."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

from torch_tb_profiler.api import open_trace

DATA = Path(__file__).parents[2] / "data" / "paddle"
JSON, PROTOBUF = DATA / "nested.paddle_trace.json.gz", DATA / "nested.paddle_trace.pb.gz"


def test_arguments_of_events_are_read_and_listed() -> None:
    events = json.loads(gzip.decompress(JSON.read_bytes()))["traceEvents"]
    written = [each["args"]["end_time"] for each in events if "end_time" in each.get("args", {})]
    with open_trace(JSON, arguments=["end_time"], cache=False) as opened:
        assert Counter(opened.arguments["text"].to_list()) == Counter(written)
        listed = {each.name: each for each in opened.argument_names()}
    assert listed["end_time"].count == len(written) > 10
    assert listed["end_time"].is_read


def test_protobuf_files_have_no_list() -> None:
    with open_trace(PROTOBUF, arguments=["end_time"], cache=False) as opened:
        assert opened.argument_names() == []
        assert "argument_absent" in opened.trace.quality.counts
