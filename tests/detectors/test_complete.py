"""Every detector has all its parts; what is missing is named with the file to edit.

A detector is a module with an entry in ``knowledge/advice.toml``, a row in ``docs/advice.md`` and,
where it estimates a gain, a way to take its cause out of a simulated program.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

from tests.simulation.removals import NOT_SIMULATED, REMOVALS
from torch_tb_profiler import detectors
from torch_tb_profiler.evidence.needs import NEEDS
from torch_tb_profiler.knowledge import advice
from torch_tb_profiler.knowledge.advice import TRACE, WORKERS, AdviceEntry, entries, entry
from torch_tb_profiler.views.schema import TableSpec

DOCS = Path(__file__).resolve().parents[2] / "docs" / "advice.md"
ROW = re.compile(
    r"^\| (?:<a id=\"\w+\"></a>)?`(\w+)`(?: \(rule \d\))? \| .+ \| (.+) \| (.+) \|$", re.MULTILINE
)
SECTIONS = {TRACE: "On one trace", WORKERS: "On the workers of a run"}
FUNCTIONS = {TRACE: "detect", WORKERS: "detect_across_workers"}

PLANTED = """
from torch_tb_profiler.views.schema import TableSpec

CODE = "planted"
EVIDENCE = TableSpec(CODE, "Rows", "One row per thing.", ())


def detect(context):
    return None
"""


def rows_of(text: str, scope: str) -> dict[str, tuple[str, str]]:
    """Code → threshold and estimated gain, of the table of a scope in ``docs/advice.md``."""
    section = text.partition(f"## {SECTIONS[scope]}\n")[2].partition("\n## ")[0]
    return {code: (threshold, gain) for code, threshold, gain in ROW.findall(section)}


def missing_in_docs(known: AdviceEntry, text: str) -> list[str]:
    """The parts of a detector that ``docs/advice.md`` lacks."""
    messages = []
    for scope in known.scopes:
        threshold, _ = rows_of(text, scope).get(known.code, ("", ""))
        if f"{known.threshold:g}" not in threshold:
            messages.append(
                f"docs/advice.md: add a row for `{known.code}`, with its threshold "
                f"{known.threshold:g}, to the table of “{SECTIONS[scope]}”"
            )
    return messages


def missing_simulation(code: str, text: str, simulated: Collection[str]) -> list[str]:
    """Whether a gain is documented for a detector that no simulated program tests."""
    gains = [rows_of(text, scope)[code][1] for scope in SECTIONS if code in rows_of(text, scope)]
    if code in simulated or all(gain.startswith("–") for gain in gains):
        return []
    return [
        f"tests/simulation/removals.py: add to REMOVALS what takes the cause of `{code}` out of a "
        "program (or to NOT_SIMULATED why no program can have it)"
    ]


def wrong_in_module(known: AdviceEntry) -> list[str]:
    """The names that the module of a detector lacks."""
    path = f"torch_tb_profiler/detectors/{known.code}.py"
    module = detectors.detector(known.code)
    messages = []
    if getattr(module, "CODE", None) != known.code:
        messages.append(f'{path}: set CODE = "{known.code}", the name of the module')
    if not isinstance(getattr(module, "EVIDENCE", None), TableSpec):
        messages.append(f"{path}: declare EVIDENCE, the TableSpec of its rows")
    for scope, name in FUNCTIONS.items():
        if hasattr(module, name) and scope not in known.scopes:
            messages.append(f'{path} has {name}: add "{scope}" to scopes in knowledge/advice.toml')
        if not hasattr(module, name) and scope in known.scopes:
            messages.append(f"{path}: add {name}, for the scope “{scope}” of its entry")
    return messages


def missing_parts(code: str, text: str) -> list[str]:
    """What is missing of a detector that has an entry, each with the file to edit."""
    known = entry(code)
    messages = wrong_in_module(known) + missing_in_docs(known, text)
    return messages + missing_simulation(code, text, REMOVALS.keys() | NOT_SIMULATED.keys())


def test_every_detector_has_all_its_parts() -> None:
    text = DOCS.read_text(encoding="utf-8")
    codes = detectors.detector_codes()
    assert [part for code in codes for part in missing_parts(code, text)] == []


def test_entries_name_needs_and_detectors_that_exist() -> None:
    for known in entries().values():
        assert set(known.needs) <= NEEDS.keys(), f"evidence/needs.py: a need of {known.code}"
        assert set(known.superseded_by) <= entries().keys() - {known.code}, known.code


def test_simulations_are_of_detectors() -> None:
    assert REMOVALS.keys() | NOT_SIMULATED.keys() <= entries().keys()
    assert not REMOVALS.keys() & NOT_SIMULATED.keys()


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The folders of the detectors, with one more that has nothing but its module."""
    (tmp_path / "planted.py").write_text(PLANTED, encoding="utf-8")
    folders = [*detectors.__path__, str(tmp_path)]
    monkeypatch.setattr(detectors, "__path__", folders)
    yield folders
    sys.modules.pop(f"{detectors.__name__}.planted", None)


def with_entry(monkeypatch: pytest.MonkeyPatch, **fields: object) -> None:
    """Add an entry for the planted detector."""
    values: Mapping[str, object] = {"title": "Planted", "threshold": 7.0, "unit": "pct", **fields}
    known = AdviceEntry("planted", texts={"default": "It is {measured:.1f} %."}, **values)  # type: ignore[arg-type]
    every = {**entries(), "planted": known}
    monkeypatch.setattr(advice, "entries", lambda: every)
    monkeypatch.setattr(detectors, "entries", lambda: every)


def test_a_module_without_an_entry_names_the_toml_file(planted: list[str]) -> None:
    with pytest.raises(detectors.DetectorError) as raised:
        detectors.codes_in(planted)
    assert "torch_tb_profiler/knowledge/advice.toml" in str(raised.value)
    assert 'code = "planted"' in str(raised.value)
    with pytest.raises(KeyError, match=r"torch_tb_profiler/knowledge/advice\.toml"):
        entry("planted")


def test_an_entry_without_a_module_names_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    with_entry(monkeypatch)
    with pytest.raises(detectors.DetectorError, match="/detectors/planted"):
        detectors.codes_in(detectors.__path__)


def test_a_detector_without_docs_and_simulation_names_both_files(
    planted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_entry(monkeypatch)
    assert "planted" in detectors.codes_in(planted)
    text = DOCS.read_text(encoding="utf-8")
    (message,) = missing_parts("planted", text)
    assert message.startswith("docs/advice.md: add a row for `planted`, with its threshold 7,")
    heading = "| code | reported if | threshold | estimated gain |\n|---|---|---|---|\n"
    documented = text.replace(heading, f"{heading}| `planted` | always | 7 % | all of it |\n", 1)
    (message,) = missing_parts("planted", documented)
    assert message.startswith("tests/simulation/removals.py: add to REMOVALS")
    free = text.replace(heading, f"{heading}| `planted` | always | 7 % | – (nobody knows) |\n", 1)
    assert missing_parts("planted", free) == []


def test_a_detector_without_the_function_of_its_scope_is_named(
    planted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_entry(monkeypatch, scopes=("workers",))
    assert wrong_in_module(entry("planted")) == [
        'torch_tb_profiler/detectors/planted.py has detect: add "trace" to scopes in '
        "knowledge/advice.toml",
        "torch_tb_profiler/detectors/planted.py: add detect_across_workers, for the scope "
        "“workers” of its entry",
    ]
