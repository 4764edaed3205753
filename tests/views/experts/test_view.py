"""Cases: worked balance of two ranks with its cost; brute force of imbalance and cost over random
loads; one rank; the same from summaries, also of a step and a time range; groups that are not
compared; more ranks than the map shows; no experts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from polars.testing import assert_frame_equal

from tests.helpers.moe import deep_ep_chunk, expert_parallel
from tests.helpers.traces import kernel, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.ingest.summaries import load_summary, save_summary
from torch_tb_profiler.loading.queries.views import run_view
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.experts import tables
from torch_tb_profiler.views.experts.view import SPEC, experts
from torch_tb_profiler.views.schema import View


def view_of(traces: dict[str, Trace], selection: Selection | None = None) -> View:
    return run_view(SPEC, traces, selection or Selection())


def facts_of(view: View) -> dict[str, object]:
    return {fact.key: fact.value for fact in view.facts}


PAIR = {"a": expert_parallel(0, [10, 40]), "b": expert_parallel(1, [30, 40])}


def test_two_ranks_one_of_which_has_more_tokens_in_one_layer() -> None:
    view = view_of(PAIR)
    assert view.answer == (
        "Experts are out of balance: b gets 1.17 × the mean tokens in nearly every pass. Waiting "
        "costs an estimated 2.5 % of the step. Dispatch and combine take 40.0 µs per step, none of "
        "it hidden behind computation."
    )
    layers = view.tables["expert_layers"].frame
    assert layers["layer"].to_list() == ["pass 1", "pass 2"]
    assert layers["tokens_max"].to_list() == [30, 40]
    assert layers["tokens_mean"].to_list() == [20, 40]
    assert layers["token_imbalance"].to_list() == [1.5, 1.0]
    assert layers["busiest"].to_list() == ["b", None]
    # a waits 20 µs for b, b never: 10 µs on average, of a step of 400 µs.
    assert layers["cost_us"].to_list() == [10, 0]
    ranks = view.tables["expert_ranks"].frame
    assert ranks["rank"].to_list() == [0, 1]
    assert ranks["tokens"].to_list() == [50, 70]
    assert ranks["token_ratio"].to_list() == pytest.approx([50 / 60, 70 / 60])
    assert ranks["wait_us"].to_list() == [20, 0]
    assert ranks["product_pct"].to_list() == [12.5, 17.5]
    assert not view.notes


def test_the_cost_is_at_most_what_is_exposed() -> None:
    """Ten times the tokens: a would wait 200 µs, but its transfers take 20."""
    view = view_of({"a": expert_parallel(0, [10]), "b": expert_parallel(1, [210])})
    assert view.tables["expert_layers"].frame["cost_us"].to_list() == [10]


@pytest.mark.parametrize("seed", range(8))
def test_random_loads_by_brute_force(seed: int) -> None:
    random = Random(seed)
    ranks, layers = random.randint(2, 5), random.randint(1, 4)
    loads = [[random.randint(1, 60) for _ in range(layers)] for _ in range(ranks)]
    traces = {
        f"w{rank}": expert_parallel(rank, each, world=ranks) for rank, each in enumerate(loads)
    }
    view = view_of(traces)
    frame = view.tables["expert_layers"].frame
    cost_us = 0.0
    for layer in range(layers):
        tokens = [each[layer] for each in loads]
        mean = sum(tokens) / ranks
        assert frame["tokens_max"][layer] == max(tokens)
        assert frame["token_imbalance"][layer] == pytest.approx(max(tokens) / mean)
        # A token takes 1 µs, and 20 µs of each pass are transfers that nothing overlaps.
        cost = sum(min(max(tokens) - own, 20) for own in tokens) / ranks
        assert frame["cost_us"][layer] == pytest.approx(cost)
        cost_us += cost
    assert facts_of(view)["imbalance_cost_us"] == pytest.approx(cost_us)
    totals = [sum(each) for each in loads]
    ratios = view.tables["expert_ranks"].frame["token_ratio"].to_list()
    assert ratios == pytest.approx([own * ranks / sum(totals) for own in totals])
    cells = view.tables["expert_loads"].frame
    assert cells.height == ranks * layers
    assert cells.filter(cells["worker"] == "w1")["tokens"].to_list() == loads[1]


def test_one_rank_has_no_balance_but_its_exchange() -> None:
    recorded, transfer_us, exposed_us = deep_ep_chunk()
    view = view_of({"worker0": recorded})
    facts = facts_of(view)
    assert facts["exchange_exposed_us"] == exposed_us
    assert facts["exchange_us"] == transfer_us
    assert facts["token_imbalance"] is None
    assert facts["imbalance_cost_us"] is None
    assert view.answer is not None
    assert view.answer.startswith("One rank is loaded")
    assert "2.00 ms exposed" in view.answer
    reasons = view.tables["expert_layers"].null_reasons
    assert {"tokens_max", "token_imbalance", "time_imbalance"} <= set(reasons)


@pytest.mark.parametrize(
    "selection", [Selection(), Selection(steps="2"), Selection(start_ns=0, end_ns=100_000)]
)
def test_summaries_give_the_same(tmp_path: Path, selection: Selection) -> None:
    small = {}
    for worker, recorded in PAIR.items():
        folder = tmp_path / worker
        folder.mkdir()
        save_summary(recorded, folder)
        small[worker] = load_summary(folder)
    whole, view = view_of(PAIR, selection), view_of(small, selection)
    assert view.facts == whole.facts
    assert view.notes == whole.notes
    assert view.answer == whole.answer
    for name, table in whole.tables.items():
        assert_frame_equal(table.frame, view.tables[name].frame, check_exact=True)


def test_a_rank_with_another_number_of_passes_is_not_compared() -> None:
    traces = {
        **PAIR,
        "c": expert_parallel(2, [50, 50, 50]),
        "d": expert_parallel(3, [10, 40]),
    }
    view = view_of(traces)
    assert view.tables["expert_layers"].frame["ranks"].to_list() == [3, 3]
    assert [note.code for note in view.notes] == ["uneven_passes"]
    assert view.tables["expert_ranks"].frame.height == 4


def test_groups_of_experts_are_compared_on_their_own() -> None:
    """Two groups of two: within each the balance is perfect."""
    traces = {
        "a": expert_parallel(0, [10], group="ep0"),
        "b": expert_parallel(1, [10], group="ep0"),
    }
    other = {
        "c": expert_parallel(2, [40], group="ep0", world=3),
        "d": expert_parallel(3, [40], group="ep0", world=3),
    }
    view = view_of({**traces, **other})
    layers = view.tables["expert_layers"].frame
    assert layers["token_imbalance"].to_list() == [1.0]
    assert facts_of(view)["imbalance_cost_us"] == 0


def test_some_ranks_are_missing() -> None:
    view = view_of({"a": expert_parallel(0, [10], world=64)})
    assert [note.code for note in view.notes] == ["ranks_missing"]
    assert "one of 64 ranks" in view.notes[0].text


def test_the_map_has_the_ranks_with_the_largest_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_LOADS", 2)
    traces = {f"w{n}": expert_parallel(n, [10 + n], world=3) for n in range(3)}
    assert view_of(traces).tables["expert_loads"].frame["worker"].to_list() == ["w1", "w2"]


def test_a_recording_without_experts() -> None:
    plain = trace([kernel("gemm", 0, 5)])
    assert SPEC.missing(plain) is not None
    assert experts({"a": plain}, Selection()).tables["expert_layers"].frame.is_empty()
    assert SPEC.missing(PAIR["a"]) is None


def test_where_the_tokens_of_a_rank_go() -> None:
    view = view_of({"a": expert_parallel(0, [10, 40], splits=[7, 3], world=2)})
    rows = view.tables["experts"].frame
    assert rows.select("receiver", "group", "rank", "senders", "tokens").rows() == [
        ("rank", "3", 0, 1, 14),
        ("rank", "3", 1, 1, 6),
    ]
    assert rows["token_ratio"].to_list() == [1.4, 0.6]
    assert view.answer is not None
    assert view.answer.startswith("One rank is loaded. Of its own tokens rank 0 gets 1.40 × the")
    both = view_of(
        {
            "a": expert_parallel(0, [10, 40], splits=[7, 3]),
            "b": expert_parallel(1, [30, 40], splits=[1, 1]),
        }
    )
    assert both.tables["experts"].frame["tokens"].to_list() == [16, 8]


def test_equal_tokens_that_take_longer_on_one_rank() -> None:
    view = view_of(
        {"a": expert_parallel(0, [40]), "b": expert_parallel(1, [40], us_per_token=0.75)}
    )
    assert view.answer is not None
    assert view.answer.startswith(
        "Experts are balanced: no rank has more than 1.00 × the mean tokens. b takes 1.20 × the "
        "mean time for its expert GEMMs, which the tokens do not explain"
    )
