"""Which JSON files are reports, and which are refused."""

from __future__ import annotations

import pytest

from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import detect_format, import_trace

HEAD = '{"schema_version":1,"view":"%s","title":"","trace":{"run":"%s","worker":"w","span":"1"}}'


def read(*answers: tuple[str, str]) -> list[str]:
    text = "[\n" + ",\n".join(HEAD % answer for answer in answers) + "\n]\n"
    (side,) = import_trace([text.encode()], name="r.json").side
    return side.frame["view"].to_list()


def test_the_views_that_are_compared_are_read() -> None:
    assert read(("overview", "a"), ("kernels", "a"), ("timeline", "a")) == ["overview", "kernels"]


def test_a_report_is_detected_by_its_first_bytes() -> None:
    head = (HEAD % ("overview", "a")).encode()
    assert detect_format(head, "baseline.json", True).format == "report"
    assert detect_format(b"[\n" + head, "baseline.json", False).format == "report"
    assert detect_format(b'{"view":"overview"}', "other.json", True).format != "report"


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ((("overview", "a"), ("overview", "b")), "several_recordings"),
        ((("kernels", "a"),), "no_overview"),
        ((("compare", "a"),), "no_overview"),
    ],
)
def test_what_is_no_side_is_refused(answers: tuple[tuple[str, str], ...], code: str) -> None:
    with pytest.raises(TraceFormatError) as error:
        read(*answers)
    assert error.value.code == code


def test_a_damaged_report_says_so() -> None:
    data = (HEAD % ("overview", "a")).encode()[:-1]
    with pytest.raises(TraceFormatError, match="not a complete report"):
        import_trace([data], name="r.json")


def test_a_report_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "report_bytes=100")
    with pytest.raises(TraceFormatError, match="report_bytes=NUMBER") as error:
        read(("overview", "a"), ("kernels", "a"))
    assert error.value.code == "too_large"
