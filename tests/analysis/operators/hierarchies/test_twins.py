"""Equal siblings are found by class and structure, folded into one, and compared."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers import traces as t
from torch_tb_profiler.analysis.operators.hierarchies.equal_modules import equal_modules
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Nodes
from torch_tb_profiler.analysis.operators.hierarchies.twins import (
    class_name,
    folded,
    outlier,
    twin_groups,
)
from torch_tb_profiler.analysis.selection import Selection


def tree(*rows: tuple[int, str]) -> Nodes:
    """Nodes of (parent, name)."""
    names = [name for _, name in rows]
    return Nodes(np.array([above for above, _ in rows]), names, [str(i) for i in range(len(rows))])


MODEL = tree(
    (-1, "Model_0"),
    *((0, "Layer_0"), (1, "Linear_0"), (1, "ReLU_0")),
    *((0, "Layer_1"), (4, "Linear_1"), (4, "ReLU_1")),
    *((0, "Layer_2"), (7, "ReLU_2"), (7, "Linear_2")),
    *((0, "Layer_3"), (10, "Linear_3")),
    (-1, "unassociated_x1"),
    (-1, "unassociated_x2"),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Linear_3", "Linear"), ("layer 12", "layer"), ("h.3", "h"), ("FSDP::x (0)", "FSDP::x")],
)
def test_class_names(name: str, expected: str) -> None:
    assert class_name(name) == expected
    assert class_name("42") == "42"


def test_equal_siblings_have_one_class_and_structure() -> None:
    assert [group.tolist() for group in twin_groups(MODEL, 12)] == [[1, 4, 7]]


def test_folded_tree() -> None:
    got = folded(MODEL, 12, "/")
    rows = zip(got.path, got.parent.tolist(), got.members.tolist(), strict=True)
    assert list(rows) == [
        ("Model_0", -1, 1),
        ("Model_0/Layer ×3", 0, 3),
        ("Model_0/Layer ×3/Linear_0", 1, 3),
        ("Model_0/Layer ×3/ReLU_0", 1, 3),
        ("Model_0/Layer_3", 0, 1),
        ("Model_0/Layer_3/Linear_3", 4, 1),
        ("unassociated_x1", -1, 1),
        ("unassociated_x2", -1, 1),
    ]
    assert got.of_node.tolist() == [0, 1, 2, 3, 1, 2, 3, 1, 3, 2, 4, 5, 6, 7]


def test_the_odd_one_is_furthest_from_the_others() -> None:
    odd = outlier(np.array([5, 6, 7, 8]), np.array([10.0, np.nan, 10.0, 15.0]))
    assert odd is not None
    assert (odd.node, odd.value, odd.others, odd.off_pct) == (8, 15.0, 10.0, 50.0)
    assert outlier(np.arange(2), np.array([1.0, 9.0])) is None
    assert outlier(np.arange(3), np.array([4.0, 4.0, 4.0])) is None


def test_the_slow_layer_of_a_model() -> None:
    events = [t.step(1, 0, 500), t.frame("nn.Module: Net_0", 0, 400, python_id=1, module=1)]
    for layer, duration in enumerate((20, 20, 44, 20)):
        at = 90 * layer + 10
        name = f"nn.Module: Layer_{layer}"
        events += [
            t.frame(name, at, 60, python_id=2 + layer, module=2 + layer),
            t.op("aten::mm", at + 5, 30),
            t.call("cudaLaunchKernel", at + 10, 5, corr=layer + 1),
            t.kernel("gemm", at + 20, duration, corr=layer + 1),
        ]
    trace = t.trace(events)
    (layers,) = equal_modules(trace, Selection(steps="1"))
    assert (layers.name, layers.is_device_time) == ("Layer", True)
    assert layers.mean_ns.tolist() == [20_000, 20_000, 44_000, 20_000]
    assert layers.odd is not None
    assert layers.paths[2] == "Net_0/Layer_2"
    assert (layers.odd.node, round(layers.odd.off_pct)) == (layers.nodes[2], 120)
    assert layers.odd_slice is not None
    assert trace.text(trace.slices["name_code"][layers.odd_slice]) == "nn.Module: Layer_2"
    assert equal_modules(t.trace([t.op("aten::mm", 0, 5)]), Selection()) == []


def test_class_names_of_long_names_are_looked_at_once() -> None:
    assert class_name("(" * 2_000_000 + "x") == "(" * 2_000_000 + "x"
    assert class_name("1" * 2_000_000 + "x") == "1" * 2_000_000 + "x"
