"""What the structure around a value says of it: JSON in texts, options in lists, pairs of a name
and its value, and numbers under keys of secrets; in JSON and in pickles."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler import scrub

EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}

SECRETS: list[tuple[Any, tuple[str, ...]]] = [
    (json.dumps({"user": "wally7", "password": "pumpkin8"}), ("wally7", "pumpkin8")),
    (json.dumps([json.dumps({"working_dir": "plans/of/q3"})]), ("plans",)),
    (f"config: {json.dumps({'run_name': 'titan', 'lr': 0.1})}", ("titan",)),
    (str({"username": "wally7", "hostname": "box77"}), ("wally7", "box77")),
    (["--wandb-key", "pumpkin8", "--lr", "3", "--user", "wally7"], ("pumpkin8", "wally7")),
    ([{"name": "HF_TOKEN", "value": "pumpkin8"}], ("pumpkin8",)),
    ([{"key": "user", "value": "wally7"}, {"name": "lr", "value": 3}], ("wally7",)),
    ({"password": 48213377, "pin": 48213378, "job_id": 48213379}, ("4821337",)),
    ("user=wally7 host=box77", ("wally7", "box77")),
    ("['run.py', '--hf-token', 'pumpkin8', '--user=wally7']", ("pumpkin8", "wally7")),
]


@pytest.mark.parametrize(("value", "secrets"), SECRETS, ids=lambda each: str(each)[:30])
def test_json(value: Any, secrets: tuple[str, ...], tmp_path: Path) -> None:
    document = {"schemaVersion": 1, "traceEvents": [{**EVENT, "args": {"note": value}}]}
    (tmp_path / "in.json").write_text(json.dumps(document))
    scrub(tmp_path / "in.json", tmp_path / "copy.json")
    text = (tmp_path / "copy.json").read_text()
    assert [secret for secret in secrets if secret in text] == []
    assert len(json.loads(text)["traceEvents"]) == 1


@pytest.mark.parametrize(("value", "secrets"), SECRETS, ids=lambda each: str(each)[:30])
def test_pickles(value: Any, secrets: tuple[str, ...], tmp_path: Path) -> None:
    snapshot = {"segments": [], "device_traces": [[]], "note": value}
    (tmp_path / "in.pickle").write_bytes(pickle.dumps(snapshot))
    scrub(tmp_path / "in.pickle", tmp_path / "copy.pickle")
    text = repr(pickle.loads((tmp_path / "copy.pickle").read_bytes()))
    assert [secret for secret in secrets if secret in text] == []


def test_what_says_nothing_stays_as_it_is_written(tmp_path: Path) -> None:
    notes = {
        "json": '{"BLOCK": 128,  "kernels": ["a"]}',
        "list": ["--lr", "3", "-n", "8"],
        "pairs": [{"name": "lr", "value": "x"}],
        "token": 17,
        "text": "user: step 3, host: forward",
    }
    document = {"schemaVersion": 1, "traceEvents": [{**EVENT, "args": notes}]}
    (tmp_path / "in.json").write_text(json.dumps(document))
    scrub(tmp_path / "in.json", tmp_path / "copy.json")
    assert json.loads((tmp_path / "copy.json").read_text())["traceEvents"][0]["args"] == notes
