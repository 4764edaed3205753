"""Peaks of the devices of a trace, as the vendor says and as somebody gives them."""

from __future__ import annotations

import pytest

from tests.helpers.traces import kernel, trace
from torch_tb_profiler.analysis.efficiency.peaks import GIVEN, described, device_peaks, given_peaks
from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.trace.model import Trace


def of(*names: str) -> Trace:
    properties = [{"id": number, "name": name} for number, name in enumerate(names)]
    events = [kernel("k", 10 * number, 5, device=number) for number in range(len(names))]
    return trace(events, deviceProperties=properties)


def test_devices_have_the_peaks_of_their_names() -> None:
    found = device_peaks(of("NVIDIA H100 80GB HBM3", "nobody's"))
    assert list(found) == [0]
    assert found[0].matrix["bfloat16"] == 989.4
    assert found[0].bandwidth_gb_per_s == 3350


def test_what_is_given_comes_first_and_makes_unknown_devices_known() -> None:
    given = "bf16=500, float32=60,bandwidth_gb_per_s=1000"
    found = device_peaks(of("NVIDIA H100 80GB HBM3", "nobody's"), given)
    assert [peaks.matrix["bfloat16"] for peaks in found.values()] == [500, 500]
    assert [peaks.vector["float32"] for peaks in found.values()] == [60, 60]
    assert [peaks.bandwidth_gb_per_s for peaks in found.values()] == [1000, 1000]
    assert found[0].matrix["float8"] == 1978.9
    assert "float8" not in found[1].matrix
    assert all(text.startswith(GIVEN) for text in described(found).values())


def test_a_device_without_properties_is_known_by_its_work() -> None:
    found = device_peaks(trace([kernel("k", 0, 5, device=3)]), "fp8=1000")
    assert found[3].matrix == {"float8": 1000}


def test_other_work_may_be_given_apart() -> None:
    given = given_peaks("float32=160,float32_vector=80,bfloat16_vector=90")
    assert given is not None
    assert (given.of_products("float32"), given.of_other_work("float32")) == (160, 80)
    assert given.of_other_work("bfloat16") == 90
    assert given_peaks(None) is given_peaks(" ") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int64=3", "'int64' is none of float64"),
        ("bandwidth=3", "'bandwidth' is none of"),
        ("bfloat16", "'bfloat16' needs a number above 0, like bfloat16=989.4"),
        ("bfloat16=fast", "'bfloat16=fast' needs a number"),
        ("bfloat16=-1", "needs a number above 0"),
        ("bfloat16=nan", "needs a number above 0"),
        ("bfloat16=inf", "needs a number above 0"),
        ("x" * 2000, "2000 characters are too many"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(SelectionError, match=r"^peak: ") as caught:
        given_peaks(text)
    assert said in str(caught.value)
