"""Annotations of nodes as texts."""

from __future__ import annotations

import json

import pytest

from torch_tb_profiler.analysis.kernels.graphs.annotations import MAX_CHARS, annotation_text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("decode", "decode"),
        (json.dumps("decode"), "decode"),
        (json.dumps({"str": "phase_A"}), "phase_A"),
        (json.dumps({"module_fqn": "layers.0.mlp", "str": "x"}), "layers.0.mlp"),
        (json.dumps([{"name": "a"}, {"name": "b"}, {"name": "a"}]), "a / b"),
        (json.dumps({"phase": "x", "stream": 60}), "phase=x"),
        (json.dumps({"stream": 60}), ""),
        ("[" * 2000, ("[" * 2000)[:MAX_CHARS]),
        ("7", "7"),
    ],
)
def test_texts(written: str, text: str) -> None:
    assert annotation_text(written) == text
