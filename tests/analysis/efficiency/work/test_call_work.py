"""The work of calls in hand-made traces.

Cases: of nested calls one is counted and device time is shared out once; copies inside products;
views; unknown and damaged inputs; convolutions whose values old PyTorch did not write, by their
backward nodes and by the calls around them; stated FLOPs; collectives; backward passes by their
forward operator; lists whose type the kernel tells; a random forest against a slow count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import Event, call, kernel, op, trace
from torch_tb_profiler.analysis.efficiency.work.call_work import CallWork, call_work
from torch_tb_profiler.analysis.efficiency.work.result import REASON_TEXTS, Reason
from torch_tb_profiler.knowledge.formulas import formulas

FLOAT = "float"
_NEXT = iter(range(1, 1_000_000))


def launched(ts: float, dur: float, name: str = "gemm") -> list[Event]:
    """A launch at ``ts`` and its kernel of ``dur`` µs."""
    number = next(_NEXT)
    return [
        call("cudaLaunchKernel", ts, 1, corr=number),
        kernel(name, 1000 + 100 * number, dur, corr=number),
    ]


def told(types: list[str], **more: Any) -> dict[str, Any]:
    """Arguments of an operator by the keys of the file."""
    keys = {"sequence": "Sequence number", "thread": "Fwd thread id"}
    return {"Input type": types, **{keys[key]: value for key, value in more.items()}}


def product(name: str, ts: float, dur: float, shapes: list[Any], **more: Any) -> Event:
    """A call with inputs of float."""
    return op(name, ts, dur, shape=shapes, **told([FLOAT] * len(shapes)), **more)


def test_of_a_nest_the_innermost_is_counted_and_holds_its_device_time_alone() -> None:
    work = call_work(
        trace(
            [
                product("aten::linear", 0, 100, [[4, 8], [16, 8], [16]]),
                *launched(1, 3),
                product("aten::addmm", 10, 80, [[16], [4, 8], [8, 16]]),
                *launched(11, 7),
                product("aten::copy_", 30, 20, [[4, 8], [4, 8]]),
                *launched(31, 5),
                product("aten::t", 60, 5, [[16, 8]]),
            ]
        )
    )
    assert work.flops.tolist() == [1024, 1024, 0, 0]
    assert work.bytes.tolist() == [4 * (32 + 128 + 16 + 64), 4 * (16 + 32 + 128 + 64), 256, 0]
    assert work.is_counted.tolist() == [False, True, True, False]
    assert work.device_ns.tolist() == [0, 7000, 5000, 0]
    assert work.is_model.tolist() == [False, True, False, False]
    assert [work.dtypes[code] for code in work.dtype_code] == ["float32"] * 4
    assert formulas()[work.formula[1]].name == "addmm"


def test_an_outer_call_counts_where_nothing_inside_tells_its_work() -> None:
    work = call_work(
        trace(
            [
                product("aten::linear", 0, 100, [[4, 8], [16, 8]]),
                op("aten::addmm", 10, 80, shape=[[16], ["x"], [8, 16]]),
                *launched(11, 7),
                op("custom::thing", 20, 5),
            ]
        )
    )
    assert work.flops[0] == 1024
    assert np.isnan(work.flops[1:]).all()
    assert work.is_counted.tolist() == [True, False, False]
    assert work.device_ns.tolist() == [7000, 0, 0]
    assert work.reason.tolist() == [Reason.KNOWN, Reason.DAMAGED, Reason.NO_FORMULA]
    assert work.formula[2] == -1


def test_what_is_unknown_has_its_reason_and_counts_once() -> None:
    work = call_work(
        trace([op("aten::conv2d", 0, 50), op("aten::convolution", 1, 40), op("aten::mm", 60, 5)])
    )
    assert work.is_counted.tolist() == [False, True, True]
    assert set(work.reason.tolist()) == {Reason.SHAPES} == set(work.bytes_reason.tolist())
    assert np.isnan(work.flops).all()
    assert set(REASON_TEXTS) == set(Reason)


OLD = ["float", "float", "", "GenericList", "GenericList", "GenericList", "Bool"]


def test_old_convolutions_are_told_by_their_backward_nodes_and_the_calls_around_them() -> None:
    """PyTorch 1.9 on a GPU: values are not written, gradients are computed by two calls."""
    x, w, y = [2, 3, 8, 8], [4, 3, 3, 3], [2, 4, 4, 4]
    lists: list[Any] = [[], [], [], []]
    around = ["float", "float", "float", "GenericList"]
    inside = ["GenericList", "float", "float"]
    work = call_work(
        trace(
            [
                op("aten::conv2d", 0, 50, shape=[x, w, *lists], **told(OLD)),
                op(
                    "aten::cudnn_convolution",
                    5,
                    40,
                    shape=[x, w, *lists],
                    **told(["float", "float", *OLD[3:]], sequence=7),
                ),
                op(
                    "CudnnConvolutionBackward",
                    100,
                    90,
                    tid=2,
                    shape=[y],
                    **told(["float"], sequence=7, thread=1),
                ),
                op(
                    "aten::cudnn_convolution_backward",
                    101,
                    80,
                    tid=2,
                    shape=[x, y, w, *lists],
                    **told(around),
                ),
                op(
                    "aten::cudnn_convolution_backward_input",
                    102,
                    20,
                    tid=2,
                    shape=[[], y, w],
                    **told(inside),
                ),
                op(
                    "aten::cudnn_convolution_backward_weight",
                    130,
                    20,
                    tid=2,
                    shape=[[], y, x],
                    **told(inside),
                ),
            ]
        )
    )
    counted = work.is_counted
    assert work.flops[counted].tolist() == [6912, 6912, 6912]
    x_size, w_size, y_size = 4 * 384, 4 * 108, 4 * 128
    assert work.bytes[counted].tolist() == [x_size + w_size + y_size] * 3
    assert counted.tolist() == [False, True, False, False, True, True]


def test_an_old_convolution_without_a_backward_node_is_estimated_by_the_call_after_it() -> None:
    x, w, y = [2, 3, 8, 8], [4, 3, 3, 3], [2, 4, 4, 4]
    events = [
        op("aten::conv2d", 0, 50, shape=[x, w], **told([FLOAT] * 2)),
        op("aten::cudnn_convolution", 5, 40, shape=[x, w], **told([FLOAT] * 2)),
    ]
    after = op("aten::relu", 60, 5, shape=[y], **told([FLOAT]))
    work = call_work(trace([*events, after]))
    assert work.flops[:2].tolist() == [6912, 6912]
    assert work.is_estimated.tolist() == [True, True, False]
    other = op("aten::relu", 60, 5, shape=[[2, 5, 4, 4]], **told([FLOAT]))
    for following in ([], [other], [{**after, "tid": 2}]):
        work = call_work(trace([*events, *following]))
        assert np.isnan(work.flops[:2]).all()
        assert set(work.reason[:2].tolist()) == {Reason.VALUES}


def test_what_a_recording_states_stands_where_no_formula_tells_it() -> None:
    shapes: dict[str, Any] = {"shape": [[8, 4], [8, 4]], **told([FLOAT, FLOAT])}
    work = call_work(
        trace(
            [
                op("triton_poi_fused_mul_0", 0, 5, **shapes, kernel_flop=64, kernel_num_gb=5e-7),
                op("triton_poi_fused_mul_1", 10, 5, **shapes),
                op("custom::thing", 20, 5, flops=7),
                product("aten::mm", 30, 5, [[2, 3], [3, 5]], flops=61),
            ]
        )
    )
    assert work.flops[[0, 2, 3]].tolist() == [64, 7, 60]
    assert np.isnan(work.flops[1])
    assert work.bytes[[0, 1]].tolist() == pytest.approx([500, 256])
    assert work.is_stated.tolist() == [True, False, True, False]
    assert work.is_estimated.tolist() == [False, True, False, False]
    assert work.stated_flops[[0, 2, 3]].tolist() == [64, 7, 61]
    assert work.reason[1] == Reason.GENERATED
    assert work.is_counted.all()


def test_what_is_stated_of_kernels_is_stated_of_the_call_that_launched_them() -> None:
    """As ``torch._inductor.analysis.profile_analysis`` writes it into a trace."""
    numbers = [next(_NEXT) for _ in range(2)]
    events = [op("triton_poi_fused_mul_0", 0, 50, shape=[[8]], **told([FLOAT]))]
    for number in numbers:
        events += [
            call("cudaLaunchKernel", number % 40 + 1, 1, corr=number),
            kernel("triton_", 1000 * number, 5, corr=number, kernel_flop=30, kernel_num_gb=1e-7),
        ]
    work = call_work(trace(events))
    assert (work.flops.tolist(), work.bytes.tolist()) == ([60], [pytest.approx(200)])
    assert work.stated_flops.tolist() == [60]


def test_a_collective_moves_what_its_metadata_says() -> None:
    message: dict[str, Any] = {"Collective name": "_allgather_base", "dtype": "Float"}
    message |= {"In msg nelems": 10, "Out msg nelems": 40}
    number = next(_NEXT)
    work = call_work(
        trace(
            [
                op("record_param_comms", 0, 9, shape=[[10], []], **message),
                op("record_param_comms", 10, 9),
                call("cudaLaunchKernel", 12, 1, corr=number),
                kernel("ncclDevKernel_AllGather", 5000, 3, corr=number, **message),
                op("record_param_comms", 20, 9, shape=[[10]], **told([FLOAT])),
            ]
        )
    )
    assert work.bytes.tolist() == [200, 200, 80]
    assert work.flops.tolist()[::2] == [0, 0]
    assert not work.is_model.any()


def test_a_backward_pass_without_inputs_is_counted_by_its_forward_one() -> None:
    attention = [[1, 4, 2, 8]] * 3
    work = call_work(
        trace(
            [
                op("FlashAttnFunc", 0, 50, shape=attention, **told([FLOAT] * 3, sequence=3)),
                op(
                    "FlashAttnFuncBackward",
                    100,
                    50,
                    tid=2,
                    shape=[[1, 4, 2, 8]],
                    **told([FLOAT], sequence=3, thread=1),
                ),
                op("FlashAttnFuncBackward", 200, 50, tid=2, shape=[[1, 4, 2, 8]]),
            ]
        )
    )
    assert work.flops[:2].tolist() == [1024, 2560]
    assert work.is_estimated.tolist() == [False, True, False]
    assert work.reason[2] == Reason.FORWARD


def test_a_backward_pass_that_calls_products_is_counted_by_those() -> None:
    work = call_work(
        trace(
            [
                op("_Linear", 0, 50, shape=[[5, 3], [4, 3]], **told([FLOAT] * 2, sequence=3)),
                product("aten::mm", 10, 9, [[4, 3], [3, 5]]),
                op("_LinearBackward", 100, 50, tid=2, **told([], sequence=3, thread=1)),
                product("aten::mm", 110, 9, [[4, 5], [5, 3]], tid=2),
            ]
        )
    )
    assert work.flops.tolist() == [120, 120, 240, 120]
    assert work.is_counted.tolist() == [False, True, False, True]


def test_the_type_of_a_list_is_that_of_its_kernel() -> None:
    lists = [[[8, 4], [8]]] * 2
    name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<float>()"
    work = call_work(
        trace(
            [
                op("aten::_foreach_add_", 0, 9, shape=lists, **told(["TensorList"] * 2)),
                *launched(1, 3, name),
                op("aten::_foreach_add_", 10, 9, shape=lists, **told(["TensorList"] * 2)),
            ]
        )
    )
    assert work.flops.tolist() == [40, 40]
    assert work.bytes[0] == 3 * 40 * 4
    assert np.isnan(work.bytes[1])
    assert work.bytes_reason[1] == Reason.TYPES


NAMES = ("aten::mm", "aten::linear", "aten::add", "aten::copy_", "aten::view", "custom::thing")
RANKS = {"aten::mm": 5, "aten::linear": 5, "aten::add": 4, "aten::copy_": 2, "aten::view": 0}


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(-1, 6)), min_size=1, max_size=8))
def test_counting_as_a_slow_reading_of_its_definition(tree: list[tuple[str, int]]) -> None:
    """Calls are nested by start and end: each takes the room of those inside it."""
    parents = [min(parent, at - 1) for at, (_, parent) in enumerate(tree)]
    children = [[at for at, each in enumerate(parents) if each == place] for place in range(-1, 8)]
    order: list[int] = []
    events: list[Event] = []

    def lay(place: int, start: float) -> float:
        order.append(place)
        at = len(events)
        events.append({})
        events.extend(launched(start + 1, 2))
        end = start + 3
        for child in children[place + 1]:
            end = lay(child, end)
        events[at] = product(tree[place][0], start, end + 1 - start, [[4, 4], [4, 4]])
        return end + 2

    start = 0.0
    for root in children[0]:
        start = lay(root, start)
    recorded = trace(events)
    work = call_work(recorded)
    if len(work.flops) != len(tree):
        return  # a call of one name alone in another is a part of it

    def inside(place: int) -> list[int]:
        return [each for child in children[place + 1] for each in (child, *inside(child))]

    def rank(place: int) -> int:
        return RANKS.get(tree[place][0], -1)

    counted = {
        place
        for place in range(len(tree))
        if rank(place) > 0 and all(rank(each) < rank(place) for each in inside(place))
    }
    assert work.is_counted.tolist() == [place in counted for place in order]
    check_times(work, [parents, order, counted])


def check_times(work: CallWork, expectation: list[Any]) -> None:
    """Each kernel (2 µs) belongs to the counted call nearest around it."""
    parents, order, counted = expectation
    expected = dict.fromkeys(order, 0)
    for place in order:
        holder = place
        while holder >= 0 and holder not in counted:
            holder = parents[holder]
        if holder >= 0:
            expected[holder] += 2000
    assert work.device_ns.tolist() == [expected[place] for place in order]
