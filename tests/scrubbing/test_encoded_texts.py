"""Private texts that are spelled in another way, and texts that only look so."""

from __future__ import annotations

import base64
import html
import json
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pytest

from torch_tb_profiler import scrub
from torch_tb_profiler.scrubbing.encoded_texts import without_encoded

PRIVATE = "/home/annlee/acme/plan.txt"


def _base64(text: str, encoding: str = "utf-8") -> str:
    return base64.b64encode(text.encode(encoding)).decode()


FORMS: dict[str, Callable[[str], str]] = {
    "URL": lambda text: urllib.parse.quote(text, safe=""),
    "base64": _base64,
    "base64 without its end": lambda text: _base64(text).rstrip("="),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 of UTF-16": lambda text: _base64(text, "utf-16-le"),
    "hex": lambda text: text.encode().hex(),
    "long hex": lambda text: "0x" + text.encode().hex().upper(),
    "entities": lambda text: html.escape(text).replace("/", "&#x2F;"),
    "slashes of JSON": lambda text: text.replace("/", "\\/"),
    "escapes of JSON": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "escapes of Python": lambda text: text.replace("/", "\\x2f"),
    "UTF-16": lambda text: "".join(f"{each}\0" for each in text),
}


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_private_text_is_in_the_copy(form: str, tmp_path: Path) -> None:
    spelled = FORMS[form](PRIVATE)
    _write(tmp_path / "in.json", f"see {spelled} there", spelled)
    scrub(tmp_path / "in.json", tmp_path / "copy.json")
    values = list(json.loads((tmp_path / "copy.json").read_text())["notes"].values())
    assert not [each for each in values if spelled.strip("=") in each or "annlee" in each]


@pytest.mark.parametrize(
    "text",
    [
        "void at::native::vectorized_elementwise_kernel<4>(int)",
        "_ZN2at6native29vectorized_elementwise_kernelILi4EEEviT0_T1_",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN",
        "100%2, a&amp;b, C:\\temp",
        _base64("a text that says nothing of anybody"),
        "deadbeefdeadbeefdeadbeef",
    ],
)
def test_other_texts_stay(text: str, tmp_path: Path) -> None:
    _write(tmp_path / "in.json", text.replace("C:\\temp", ""))
    scrub(tmp_path / "in.json", tmp_path / "copy.json")
    notes = json.loads((tmp_path / "copy.json").read_text())["notes"]
    assert list(notes.values()) == [text.replace("C:\\temp", "")]


def test_what_is_around_an_encoded_text_stays() -> None:
    def rules(text: str) -> str:
        return text.replace("annlee", "user-a")

    text = f"a {_base64('hello annlee!')} b"
    assert without_encoded(text, rules, lambda part: f"<{len(part)}>") == "a <20> b"
    assert without_encoded("x%20annl%65e", rules, str) == "x user-a"


@pytest.mark.parametrize("part", ["aA1+", "0a", "%41", "&#x2F;", "\\u0041", "\0", "aaaaaaaaaaaa="])
def test_a_hostile_text_takes_no_long_time(part: str) -> None:
    start_s = time.process_time()
    without_encoded(part * (200_000 // len(part)), str.lower, str)
    assert time.process_time() - start_s < 5


def _write(path: Path, *texts: str) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    notes = {f"note {number}": text for number, text in enumerate(texts)}
    document = {"schemaVersion": 1, "traceEvents": [event], "notes": notes}
    path.write_text(json.dumps(document))
