"""Two programs that torch recorded (``bench/programs/experts.py``, gloo, four ranks, torch 2.13):
the tokens of every pass are those that the programs counted, forward and backward, with
grouped products and expert by expert; dispatch and combine are recognized without a named group."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.opening import open_file
from torch_tb_profiler.analysis.experts.facts import expert_kernel_facts, expert_pass_facts
from torch_tb_profiler.storage.locations import open_location

DATA = Path(__file__).parents[2] / "data" / "experts"


@pytest.mark.parametrize("program", ["grouped", "loop"])
@pytest.mark.parametrize("rank", range(4))
def test_tokens_are_those_that_the_program_counted(program: str, rank: int) -> None:
    counted = json.loads((DATA / "truth.json").read_text())[program][rank]["tokens"]
    path = DATA / program / f"rank{rank}.pt.trace.json.gz"
    recorded = open_file(open_location(str(path)), cache=None)
    passes = expert_pass_facts(recorded)
    assert (
        passes["layer"].str.extract(r"(MoELayer_\d)$").to_list()
        == [f"MoELayer_{layer}" for layer in (0, 1, 1, 0)] * 2
    )
    assert passes["direction"].to_list() == ["forward", "forward", "backward", "backward"] * 2
    first, second = counted[:2], counted[2:]
    assert passes["tokens"].to_list() == [*first, *first[::-1], *second, *second[::-1]]
    calls = expert_kernel_facts(recorded)
    exchanges = calls.filter(calls["kernel"] == "gloo:all_to_all")
    by_stage = exchanges.select("stage", "calls").group_by("stage").sum()
    # Per step and layer: forward counts, tokens and results; backward two gradients.
    assert dict(by_stage.iter_rows()) == {"dispatch": 12, "combine": 8}
