"""What the hooks expect of torch: true of every release since 2.0, and what is not is reported.

``signatures.json`` was read from the releases' sources (``tools/torch_signatures.py``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.recorder.torch_api.expectations import (
    Description,
    allows,
    load_hooks,
    parse_version,
    unmet,
)

RELEASES = json.loads(Path(__file__).with_name("signatures.json").read_text())
VERSIONS: list[str] = RELEASES["versions"]
HOOKS = load_hooks()

TOO_OLD = {
    "compile callbacks": ["2.0.1", "2.1.2", "2.2.2"],
    "FSDP2 settings": ["2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1"],
}
"""Hook → releases that have no place for it."""


def release(version: str) -> Any:
    """A function that describes targets of a release."""

    def describe(target: str) -> Description | None:
        rows = RELEASES["targets"][target]
        until = [row for row in rows if parse_version(row["since"]) <= parse_version(version)]
        names, parameters = until[-1].get("names"), until[-1].get("parameters")
        if not until[-1]["exists"]:
            return None
        return Description(
            None if parameters is None else tuple(parameters),
            None if names is None else frozenset(names),
        )

    return describe


def problems(hook: str, version: str, **changes: Any) -> list[str]:
    return list(unmet({**HOOKS[hook], **changes}, parse_version(version), release(version)))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_hook_works_with_every_release(version: str) -> None:
    refused = {hook: texts for hook in HOOKS if (texts := problems(hook, version))}
    assert refused.keys() == {hook for hook, old in TOO_OLD.items() if version in old}
    assert all("or newer" in text for (text,) in refused.values())


def test_the_releases_differ_where_they_do() -> None:
    """Else the test above could not fail: since 2.14 the loop of workers takes a holder."""
    needs = {"torch.utils.data._utils.worker:_worker_loop": {"parameters": ["dataset"]}}
    assert problems("loader workers", "2.13.0", needs=needs) == []
    assert problems("loader workers", "2.14.0", needs=needs) == [
        "torch.utils.data._utils.worker._worker_loop has no parameter dataset"
    ]
    known = [row for rows in RELEASES["targets"].values() for row in rows if row.get("names")]
    assert len(known) > len(HOOKS)


def test_versions() -> None:
    texts = ("2.13.0+cpu", "2.16.0a0+git1234", "2.9", "2.15.0.dev20261101", "nightly")
    assert [parse_version(text) for text in texts[:4]] == [(2, 13), (2, 16), (2, 9), (2, 15)]
    assert parse_version(texts[4]) > (1000,)


def test_words_of_what_is_missing() -> None:
    description = Description(("self", "other", "path"), frozenset({"one"}))
    needs = {
        "torch.a:f": {"leading": ["self", "path"], "parameters": ["x|y", "z>=3.0", "path"]},
        "torch.a:C": {"names": ["one|two", "three|four", "five>=2.14"]},
        "torch.b:g>=2.14": {},
        "torch.b:h>=2.13": {},
    }
    described = {"torch.a:f": description, "torch.a:C": description}
    assert list(unmet({"needs": needs}, (2, 13), described.get)) == [
        "torch.a.f does not begin with the parameters self, path",
        "torch.a.f has no parameter x or y",
        "torch.a.C does not use three or four",
        "there is no torch.b.h",
    ]
    unknown = {"torch.a:f": Description(), "torch.a:C": Description(), "torch.b:h": Description()}
    assert list(unmet({"needs": needs}, (2, 13), unknown.get)) == []


@pytest.mark.parametrize("hook", HOOKS)
def test_the_installed_torch_is_described_as_its_sources(hook: str) -> None:
    torch = pytest.importorskip("torch")
    installed = pytest.importorskip("torch_tb_profiler.recorder.torch_api.installed")
    version = str(torch.__version__)
    if hook == "compile callbacks":
        pytest.skip("imports the compiler, which takes seconds")
    assert list(unmet(HOOKS[hook], parse_version(version), installed.describe)) == []
    if version.partition("+")[0] not in VERSIONS:
        pytest.skip(f"torch {version} is not in the table")
    for target in (key.partition(">=")[0] for key in HOOKS[hook]["needs"]):
        expected, actual = release(version)(target), installed.describe(target)
        assert expected is not None
        assert actual is not None
        if expected.parameters is not None and actual.parameters is not None:
            assert actual.parameters == expected.parameters
        if expected.names is not None and actual.names is not None:
            assert actual.names >= expected.names


def test_what_is_missing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from torch.utils.data._utils import worker  # noqa: PLC0415

    class Session:
        missing: tuple[str, str] | None = None

        def report_missing(self, what: str, reason: str) -> None:
            self.missing = (what, reason)

    session = Session()
    assert allows("loader workers", session)
    assert session.missing is None

    def other_loop(data: Any, index_queue: Any, data_queue: Any, worker_id: int) -> None:
        """A loop as no release has it."""

    monkeypatch.setattr(worker, "_worker_loop", other_loop)
    assert not allows("loader workers", session)
    assert session.missing is not None
    what, reason = session.missing
    assert what == "loader_stages"
    assert "_worker_loop has no parameter dataset or dataset_holder. Fetch, transform" in reason
