"""Cases: one rank has more tokens in every layer; ranks take turns; imbalance that costs little,
loads that are balanced, and one rank alone are none; without shapes times are compared."""

from __future__ import annotations

from tests.helpers.moe import expert_parallel
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors.expert_imbalance import detect_across_workers
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding


def detected(*loads: list[int], shapes: bool = True, us_per_token: float = 0.5) -> Finding | None:
    contexts = {
        f"w{rank}": Context(
            expert_parallel(
                rank, tokens, world=len(loads), shapes=shapes, us_per_token=us_per_token
            ),
            Selection(),
        )
        for rank, tokens in enumerate(loads)
    }
    return detect_across_workers(contexts)


def test_one_rank_has_more_tokens_in_every_layer() -> None:
    finding = detected([30, 30], [90, 60])
    assert finding is not None
    assert round(finding.measured, 3) == round(((90 + 60) / (60 + 45) - 1) * 100, 3)
    assert finding.values["busiest"] == "w1"
    assert finding.values["share"] == 100
    assert finding.values["what"] == "tokens"
    assert finding.variant == "default"
    # w0 waits 20 (its transfers) and 20 of 30 µs, w1 never; a step is 400 µs.
    assert finding.at_stake_us == (20 + 20) / 2
    assert finding.values["cost"] == 5
    assert finding.rows[0]["busiest"] == "w1"


def test_ranks_that_take_turns() -> None:
    finding = detected([90, 30], [30, 90])
    assert finding is not None
    assert finding.variant == "turns"


def test_times_are_compared_where_tokens_are_unknown() -> None:
    finding = detected([30, 30], [90, 60], shapes=False)
    assert finding is not None
    assert finding.values["what"] == "time of expert GEMMs"


def test_what_is_no_imbalance() -> None:
    assert detected([50, 50], [55, 55]) is None
    assert detected([30, 30], [90, 60], us_per_token=0.01) is None, "it costs little"
    assert detected([30, 90]) is None, "one rank"
