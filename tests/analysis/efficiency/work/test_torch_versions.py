"""One program recorded by fourteen versions of PyTorch has the same model FLOPs in each, though
older ones write neither values nor types: counted by hand below.

PyTorch 1.8 writes no links of backward nodes: the first of both convolutions stays unknown there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.opening import open_file
from torch_tb_profiler.analysis.efficiency.work.call_work import call_work
from torch_tb_profiler.storage.locations import open_location

FILES = sorted((Path(__file__).parents[3] / "data" / "torch_versions").glob("*/*.json.gz"))

STEPS = 2
FIRST = 2 * 4 * 16 * 16 * (8 * 3 * 3 * 3)  # batch of 4, 16 × 16 points, weight [8, 3, 3, 3]
SECOND = 2 * 4 * 16 * 16 * (8 * 8 * 3 * 3)
LINEAR = 2 * 4 * 10 * 8
MODEL = STEPS * (
    (FIRST + SECOND + LINEAR)  # forward
    + (FIRST + SECOND + LINEAR)  # gradients of weights
    + (SECOND + LINEAR)  # gradients of inputs: nobody asks for that of the images
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_model_flops_are_those_counted_by_hand(path: Path) -> None:
    trace = open_file(open_location(str(path)), cache=None)
    work = call_work(trace)
    missing = STEPS * FIRST if path.parent.name == "1.8.1" else 0
    assert np.nansum(work.flops[work.is_model]) == MODEL - missing
    has_unknown = np.isnan(work.flops[work.is_model]).any()
    assert has_unknown == bool(missing)
