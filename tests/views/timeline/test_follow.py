"""Steps along the flow, against every slice of random recordings; a walk there and back."""

from __future__ import annotations

from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.traces import call, kernel, op, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.follow import Step, step_back, step_onward

LAUNCHED = [
    op("aten::linear", 0, 60),
    op("aten::mm", 10, 30),
    call("cudaLaunchKernel", 15, 5, corr=1),
    call("cudaLaunchKernel", 25, 5, corr=2),
    kernel("first", 40, 10, corr=1),
    kernel("elsewhere", 45, 10, stream=9),
    kernel("second", 70, 10, corr=2),
]


def name_of(built: Trace, step: Step | None) -> tuple[str, str | None] | None:
    return step if step is None else (step.kind, built.text(built.slices["name_code"][step.slice]))


def test_from_an_operator_to_the_last_kernel_and_back() -> None:
    built = trace(LAUNCHED)
    ids = {built.text(code): number for number, code in enumerate(built.slices["name_code"])}

    def onward(name: str) -> tuple[str, str | None] | None:
        return name_of(built, step_onward(built, ids[name]))

    def back(name: str) -> tuple[str, str | None] | None:
        return name_of(built, step_back(built, ids[name]))

    assert onward("aten::linear") == ("work", "first")
    assert onward("aten::mm") == ("work", "first")
    assert onward("cudaLaunchKernel") == ("work", "second")  # the later of both calls
    assert onward("first") == ("next_in_stream", "second")
    assert onward("second") is None
    assert onward("elsewhere") is None
    assert back("second") == ("launch", "cudaLaunchKernel")
    assert back("cudaLaunchKernel") == ("operator", "aten::mm")
    assert back("aten::mm") is None
    assert back("elsewhere") is None


@examples(50)
@given(recordings())
def test_every_slice_by_hand(recording: Recording) -> None:
    built = trace(recording.events)
    work = list(built.device_work.iter_rows(named=True))
    slices = list(built.slices.iter_rows(named=True))
    of_work = {row["slice"]: row for row in work}
    forward = dict(built.operators.select("slice", "forward").drop_nulls().iter_rows())
    for number, own in enumerate(slices):
        onward, back = step_onward(built, number), step_back(built, number)
        if number in of_work:
            row = of_work[number]
            place = (row["device"], row["stream"])
            line = sorted(
                (each["start_ns"], each["slice"])
                for each in work
                if (each["device"], each["stream"]) == place
            )
            at = line.index((row["start_ns"], number))
            expected = line[at + 1][1] if at + 1 < len(line) else None
            assert (onward and onward.slice) == expected
            cause = row["owner"] if row["launch"] is None else row["launch"]
            assert (back and back.slice) == cause
            continue
        end = own["start_ns"] + own["dur_ns"]
        launched = [
            (row["start_ns"], row["slice"])
            for row in work
            if row["launch"] is not None
            and slices[row["launch"]]["track"] == own["track"]
            and own["start_ns"] <= slices[row["launch"]]["start_ns"]
            and (slices[row["launch"]]["start_ns"] < end or row["launch"] == number)
        ]
        if launched:
            assert onward is not None
            assert onward.kind == "work"
            assert (built.slices["start_ns"][onward.slice], onward.slice) == min(launched)
        else:
            twins = [child for child, parent in forward.items() if parent == number]
            assert (onward and onward.slice) == min(twins, default=None)
        owners = [row["owner"] for row in work if row["launch"] == number]
        owner = next((each for each in owners if each not in (None, number)), None)
        assert (back and back.slice) == (forward.get(number) if owner is None else owner)
