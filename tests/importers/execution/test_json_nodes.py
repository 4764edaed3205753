"""Nodes of PyTorch's JSON: as ``json`` reads them, in pieces of any size, whole or damaged."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

import pytest

from tests.importers.execution.samples import DATA, attributes, nodes
from torch_tb_profiler.importers.execution import json_nodes
from torch_tb_profiler.importers.execution.json_nodes import JsonNodes
from torch_tb_profiler.importers.execution.nodes import ExecutionNode
from torch_tb_profiler.trace.quality import QualityReport

SAMPLE = DATA / "et_rank0.json.gz"
TEXT = gzip.decompress(SAMPLE.read_bytes())


def read(text: bytes, size: int = 1 << 16) -> tuple[list[ExecutionNode], QualityReport]:
    quality = QualityReport()
    chunks = (text[at : at + size] for at in range(0, len(text), size))
    return list(JsonNodes(chunks, quality)), quality


def plain(node: ExecutionNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "parents": list(node.parents),
        "inputs": [node.inputs.values, node.inputs.shapes, node.inputs.types],
        "outputs": [node.outputs.values, node.outputs.shapes, node.outputs.types],
        "attributes": node.attributes,
    }


def expected(text: bytes) -> list[dict[str, Any]]:
    return [
        {
            "id": node["id"],
            "name": node["name"],
            "parents": [node["ctrl_deps"]],
            **{
                key: [node[key]["values"], node[key]["shapes"], node[key]["types"]]
                for key in ("inputs", "outputs")
            },
            "attributes": attributes(node),
        }
        for node in json.loads(text)["nodes"]
    ]


@pytest.mark.parametrize("piece_bytes", [1 << 12, 1 << 15, 1 << 22])
@pytest.mark.parametrize("size", [997, 1 << 16])
def test_a_file_has_the_nodes_that_json_reads(
    piece_bytes: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_nodes, "PIECE_BYTES", piece_bytes)
    given, quality = read(TEXT, size)
    assert list(map(plain, given)) == expected(TEXT)
    assert not quality.counts


def test_the_header_is_read() -> None:
    header = JsonNodes(iter([TEXT]), QualityReport())
    written = json.loads(TEXT)
    assert (header.schema, header.pid) == (written["schema"], str(written["pid"]))


def test_other_layouts_are_the_same_nodes() -> None:
    indented = json.dumps(json.loads(TEXT), indent=2).encode()
    assert list(map(plain, read(indented)[0])) == expected(TEXT)


def test_sorted_keys_are_the_same_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_nodes, "PIECE_BYTES", 1 << 12)
    given, quality = read(json.dumps(json.loads(TEXT), sort_keys=True).encode())
    assert list(map(plain, given)) == expected(TEXT)
    assert not quality.counts


def test_the_flat_schema_of_2023() -> None:
    flat = [
        {"name": "[pytorch|profiler|execution_graph|process]", "id": 1, "rf_id": 0, "parent": 1,
         "fw_parent": 0, "seq_id": -1, "scope": 7, "tid": 0, "fw_tid": 0, "op_schema": "",
         "inputs": [], "input_shapes": [], "input_types": [],
         "outputs": [], "output_shapes": [], "output_types": []},
        {"name": "aten::mm", "id": 5, "rf_id": 4, "parent": 1, "fw_parent": 0, "seq_id": 3,
         "scope": 0, "tid": 1, "fw_tid": 0, "op_schema": "aten::mm(Tensor self) -> Tensor",
         "inputs": [[2, 3, 0, 4, 4, "cpu"]], "input_shapes": [[2, 2]],
         "input_types": ["Tensor(float)"], "outputs": [[6, 7, 0, 4, 4, "cpu"]],
         "output_shapes": [[2, 2]], "output_types": ["Tensor(float)"]},
    ]  # fmt: skip
    given, quality = read(json.dumps({"schema": "1.0.1", "pid": 7, "nodes": flat}).encode())
    assert [(node.id, node.name, node.parents) for node in given] == [
        (1, flat[0]["name"], (1,)), (5, "aten::mm", (1,)),
    ]  # fmt: skip
    assert (given[1].inputs.shapes, given[1].outputs.types) == ([[2, 2]], ["Tensor(float)"])
    assert (given[1].integer("rf_id"), given[1].integer("seq_id")) == (4, 3)
    assert not quality.counts


@pytest.mark.parametrize("seed", range(20))
def test_a_truncated_file_loses_its_tail(seed: int) -> None:
    whole = nodes(SAMPLE)
    cut = TEXT[: random.Random(seed).randrange(len(TEXT) // 10, len(TEXT) - 3)]
    given, quality = read(cut)
    assert [node.id for node in given] == [node["id"] for node in whole[: len(given)]]
    assert len(given) >= cut.count(b'"ctrl_deps"') - 1
    assert quality.counts == {"truncated": 1}


@pytest.mark.parametrize("seed", range(20))
def test_damage_costs_the_damaged_nodes(seed: int) -> None:
    rng = random.Random(seed)
    damaged = bytearray(TEXT)
    for _ in range(3):
        damaged[rng.randrange(300, len(TEXT) - 10)] = rng.choice(b'"{}[],x\x00')
    given, quality = read(bytes(damaged))
    whole = len(nodes(SAMPLE))
    assert whole - 8 <= len(given) + quality.counts.get("node_damaged", 0) <= whole + 3
    assert len(given) >= whole - 8


@pytest.mark.parametrize(
    "node",
    [
        {"id": "x", "name": "a"}, {"id": 1.5, "name": "a"}, {"id": True, "name": "a"},
        {"id": 2**80, "name": "a"}, {"id": 5}, {"id": 5, "name": 7},
    ],
)  # fmt: skip
def test_a_node_without_id_or_name_is_damaged(node: dict[str, Any]) -> None:
    text = json.dumps({"nodes": [{"ctrl_deps": 1, **node}, {"id": 9, "name": "b"}]}).encode()
    given, quality = read(text.replace(b'{"ctrl_deps": 1, ', b"{"))
    assert [node.id for node in given] == [9]
    assert quality.counts.get("node_damaged", 0) <= 1


def test_ids_may_be_text_and_fields_of_any_type() -> None:
    attrs = [7, {"name": []}, {"name": "tid", "value": "4"}, {"name": "rf_id"}]
    odd = {"id": "12", "name": "a", "ctrl_deps": ["3", None, {}], "inputs": 7, "outputs": {},
           "attrs": attrs}  # fmt: skip
    given, _ = read(json.dumps({"nodes": [odd]}).encode())
    assert [(node.id, node.parents, node.integer("tid")) for node in given] == [(12, (3,), 4)]


def test_deep_lists_end_in_no_error() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    text = f'{{"nodes": [{{"id": 1, "name": "a", "inputs": {deep}}}, {{"id": 2, "name": "b"}}]}}'
    given, quality = read(text.encode())
    assert [node.id for node in given] == [2]
    assert quality.counts == {"node_damaged": 1}


@pytest.mark.parametrize("text", [b"", b"{}", b'{"nodes": [', b'{"nodes": []}', b'{"nodes": [{}]}'])
def test_files_without_nodes(text: bytes) -> None:
    assert read(text)[0] == []
