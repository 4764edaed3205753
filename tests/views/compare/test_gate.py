"""Gates: the grammar, the verdicts, and what cannot be told."""

from __future__ import annotations

import pytest

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.compare.gate import GateError, evaluate
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.schema import View


def view_of(baseline: list[int], candidate: list[int]) -> View:
    """Two recordings with one step per number: an operator of that length in 100 µs."""
    traces = []
    for lengths in (baseline, candidate):
        events = []
        for number, length in enumerate(lengths):
            at = 1000 * number
            events += [t.step(number, at, 100 + length), t.op("aten::mm", at + 10, length)]
            events += [t.op("aten::add[x]", at + 80, 5)]
        traces.append(t.trace(events))
    return compare(traces[0], Selection(), traces[1], Selection())


@pytest.fixture(scope="module")
def slower() -> View:
    """The step grows from 150 to 160 µs on average, with little variation."""
    return view_of([49, 50, 51], [59, 60, 61])


@pytest.mark.parametrize(
    ("expression", "failed"),
    [
        ("average_step.total_us>+5%", True),
        ("average_step.total_us > +7 %", False),
        ("average_step.total_us>5%", True),
        ("average_step.total_us>+9us", True),
        ("average_step.total_us>+0.0095ms", True),
        ("average_step.total_us>+11us", False),
        ("average_step.total_us>=+9.999", True),
        ("average_step.total_us>155us", True),
        ("average_step.total_us>1ms", False),
        ("average_step.total_us<-1%", False),
        ("average_step.cpu_exec_us>+5%", True),
        ("average_step[category=CPU Exec].duration_us>+5%", True),
        ("average_step.total_us>+5%@95", True),
        ("average_step.total_us>+5%@99.99", False),
        ("operators[name=aten::mm].host_self_us>+10%", True),
        ("operators[name=aten::add[x]].host_self_us>+0", False),
        ("operators.host_self_us>+10%", True),
        ("operators.calls>+0", False),
        ("operators.calls<=+0", True),
        ("steps.total_us>+5%", True),
    ],
)
def test_verdicts(slower: View, expression: str, failed: bool) -> None:
    result = evaluate(slower, expression)
    assert result.failed is failed
    assert bool(result.rows) is failed
    assert expression in result.text
    assert result.text.startswith("failed" if failed else "passed")


@pytest.mark.parametrize("unit", ["KiB", "KB"])
def test_sizes_are_in_powers_of_1024(unit: str) -> None:
    one, two = (
        t.trace([t.step(1, 0, 90), t.memory(5, size, address=1, allocated=size)])
        for size in (4096, 8192)
    )
    view = compare(one, Selection(), two, Selection())
    assert evaluate(view, f"memory.size_bytes>+3.9{unit}").failed
    assert not evaluate(view, f"memory.size_bytes>+4.1{unit}").failed


def test_the_row_that_failed_is_named_with_its_numbers(slower: View) -> None:
    result = evaluate(slower, "operators.host_self_us>+10%")
    (row,) = result.rows
    assert (row.label, row.baseline, row.candidate, row.delta) == ("aten::mm", 150, 180, 30)
    assert row.delta_pct == pytest.approx(20)
    assert result.checked == 2
    assert "aten::mm: 150.000 → 180.000 µs (+30.000, +20.0 %" in result.text


def test_a_recording_passes_against_itself() -> None:
    view = view_of([49, 50, 51], [49, 50, 51])
    for gate in ("average_step.total_us>+0", "operators.host_self_us>+0%", "steps.total_us>+0"):
        assert not evaluate(view, gate).failed


def test_noise_is_told_from_change_by_confidence() -> None:
    noisy = view_of([20, 40, 60, 80], [30, 50, 70, 90])
    assert evaluate(noisy, "average_step.total_us>+5%").failed
    assert not evaluate(noisy, "average_step.total_us>+5%@95").failed


def test_nothing_is_said_to_be_certain() -> None:
    view = view_of([50, 51, 50, 51], [500, 501, 500, 501])
    result = evaluate(view, "average_step.total_us>+5%@99.99")
    assert result.failed
    assert "confidence >99.9 %" in result.text
    assert "100.0" not in result.text


def test_calls_are_whole() -> None:
    base = t.trace([t.step(0, 0, 50), t.op("aten::a", 1, 5)])
    other = t.trace([t.step(0, 0, 50), t.op("aten::a", 1, 5), t.op("aten::a", 11, 5)])
    text = evaluate(compare(base, Selection(), other, Selection()), "operators.calls>+0").text
    assert text == "failed: operators.calls>+0: aten::a: 1 → 2 (+1, +100.0 %)"


def test_growth_from_nothing_is_beyond_every_percentage() -> None:
    base = t.trace([t.step(0, 0, 50), t.op("aten::a", 1, 5)])
    other = t.trace([t.step(0, 0, 50), t.op("aten::b", 1, 5)])
    view = compare(base, Selection(), other, Selection())
    result = evaluate(view, "operators.calls>+1000%")
    assert [row.label for row in result.rows] == ["aten::b"]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("average_step>+5%", "is malformed"),
        ("average_step.total_us", "is malformed"),
        ("average_step.total_us>+5%; rm", "is malformed"),
        ("nothing.total_us>+5%", "tables: average_step"),
        ("average_step.warp_us>+5%", "measures: total_us"),
        ("operators.warp_us>+5%", "measures: calls"),
        ("operators[colour=red].calls>+5%", "no column"),
        ("operators[name=aten::bmm].calls>+5%", "no row"),
        ("operators.calls>+5ms", "unit 'ms'"),
        ("average_step.total_us>+5parsec", "unit 'parsec'"),
        ("operators.device_self_us>+5%", "no device work"),
        ("average_step.kernel_us>+5%", "no device work"),
        ("operators.calls>+5%@95", "remove the part"),
        ("average_step.total_us>+5%@100", "use @99.9"),
    ],
)
def test_what_cannot_be_told_is_an_error_not_a_pass(
    slower: View, expression: str, message: str
) -> None:
    with pytest.raises(GateError, match=message):
        evaluate(slower, expression)


def test_confidence_of_a_single_step_is_an_error() -> None:
    with pytest.raises(GateError, match="two steps"):
        evaluate(view_of([50], [60]), "average_step.total_us>+5%@95")


def test_a_mean_that_only_the_candidate_has() -> None:
    """No change is known of it, but a limit holds for it as for all others."""
    host = [t.step(0, 0, 100), t.op("aten::mm", 10, 30)]
    gpu = [t.call("cudaLaunchKernel", 15, 5, corr=1), t.kernel("gemm", 20, 40, corr=1)]
    view = compare(t.trace(host), Selection(), t.trace([*host, *gpu]), Selection())
    result = evaluate(view, "kernels.mean_us>30us")
    assert (result.failed, result.text) == (True, "failed: kernels.mean_us>30us: gemm: 40.000 µs")
    with pytest.raises(GateError, match="no mean"):
        evaluate(view, "kernels.mean_us>+5%")
