"""Where rules are found, what is said of a file that cannot be used, and that changes count: open
traces, summaries in the cache and worker processes follow the rules as they are now."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.helpers.discovered import file_as_span
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.knowledge.user_rules import NO_RULES, RulesError, UserRules, parse_user_rules
from torch_tb_profiler.loading import user_rules as module
from torch_tb_profiler.loading.ingest.job import Job, ingest_file, read_summary
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.loading.user_rules import RulesSource, checked_rules, find_rules
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

COMMUNICATES = b'[[kernel]]\nmatch = "lab::exchange"\ncategory = "communication"\n'
COMPUTES = b'[[kernel]]\nmatch = "lab::exchange"\ncategory = "sort"\n'


@pytest.fixture
def file(tmp_path: Path) -> SpanFile:
    """A recording of one private kernel."""
    launch = {"name": "cudaLaunchKernel", "cat": "cuda_runtime", "pid": 1, "tid": 1}
    work = {"name": "void lab::exchange<8>(int*)", "cat": "kernel", "pid": 0, "tid": 7}
    events = [
        {"ph": "X", "ts": 10, "dur": 5, "args": {"correlation": 1}, **launch},
        {"ph": "X", "ts": 30, "dur": 40, "args": {"correlation": 1, "stream": 7}, **work},
    ]
    path = tmp_path / "w.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return file_as_span(open_location(str(path)))


def communicates(trace: Trace | None) -> list[bool]:
    assert trace is not None
    return [bool(one) for one in kernel_kinds(trace).is_communication]


def test_the_option_comes_before_the_environment_and_that_before_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(module.RULES_VARIABLE, raising=False)
    folder = tmp_path / "config" / "torch-tb-profiler"
    assert find_rules().read() == UserRules(f"{folder}/rules.toml")
    folder.mkdir(parents=True)
    for name, path in {
        "folder": folder / "rules.toml",
        "environment": tmp_path / "e.toml",
        "option": tmp_path / "o.toml",
    }.items():
        path.write_text(f'[[kernel]]\nmatch = "{name}"\ncategory = "gemm"\n')
    assert find_rules().read().rules[0].match == "folder"
    monkeypatch.setenv(module.RULES_VARIABLE, str(tmp_path / "e.toml"))
    assert find_rules().read().rules[0].match == "environment"
    assert find_rules(tmp_path / "o.toml").read().rules[0].match == "option"


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {"HOME": "/home/u"}, "/home/u/.config/torch-tb-profiler"),
        ("linux", {"HOME": "/home/u", "XDG_CONFIG_HOME": "/x"}, "/x/torch-tb-profiler"),
        ("linux", {"HOME": "/home/u", "XDG_CONFIG_HOME": "x"}, "/home/u/.config/torch-tb-profiler"),
        ("darwin", {"HOME": "/u"}, "/u/Library/Application Support/torch-tb-profiler"),
        ("win32", {"APPDATA": "/data"}, "/data/torch-tb-profiler"),
    ],
)
def test_the_folder_is_that_of_the_platform(
    platform: str, variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(module.config_folder()) == folder


def test_a_home_is_written_as_people_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.toml").write_bytes(COMPUTES)
    assert find_rules("~/mine.toml").read().source == "~/mine.toml"


def test_a_file_that_cannot_be_used_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    for path, cause in (
        (tmp_path / "none.toml", "does not exist"),
        (tmp_path, "is no file"),
    ):
        with pytest.raises(OpenError) as caught:
            checked_rules(path)
        assert caught.value.problem.code == "bad_rules"
        assert caught.value.problem.message == f"{path} {cause}."
        assert "--rules" in (caught.value.problem.hint or "")
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (module.MAX_BYTES + 1))
    with pytest.raises(RulesError, match="larger than 4 MiB"):
        RulesSource(large).read()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_bytes(COMPUTES)
    path.chmod(0)
    with pytest.raises(RulesError, match="cannot be read: Permission denied"):
        RulesSource(path).read()


def test_a_server_without_usable_rules_has_none_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text('[[kernel]]\nmatch = "a"\ncategory = ""\n')
    rules = RulesSource(path).current()
    assert rules.rules == ()
    assert rules.problem is not None
    assert rules.problem.startswith(f"{path}, line 3: the category is empty.")


def test_an_open_trace_follows_a_changed_file(
    tmp_path: Path, file: SpanFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECK_S", 0.0)
    path = tmp_path / "r.toml"
    cache = CacheFolder(tmp_path / "cache")
    store = TraceStore(cache=cache, rules=RulesSource(path, is_optional=True))
    seen: list[list[bool]] = []
    versions: list[str | None] = []
    for text in (None, COMMUNICATES, COMPUTES, b"[[kernel]]\nx", COMMUNICATES):
        if text is not None:
            path.write_bytes(text)
        for part in ("trace", "summary"):
            (gathered,) = store.gather([(file, part)], 10)
            assert gathered.trace is not None
        trace = store.trace(file)
        seen.append(communicates(trace))
        versions.append(store.status(file).version)
        assert trace is not None
        assert (user_rules(trace).problem is not None) == (text == b"[[kernel]]\nx")
    assert seen == [[False], [True], [False], [False], [True]]
    assert len(set(versions)) == 4  # the pages ask again after each change
    assert versions[1] == versions[4]


def test_a_summary_in_the_cache_belongs_to_its_rules(tmp_path: Path, file: SpanFile) -> None:
    cache = CacheFolder(tmp_path / "cache")
    rules = {text: parse_user_rules(text, "r.toml") for text in (COMMUNICATES, COMPUTES)}
    parser = Parser(1)
    calls = []
    for text in (COMMUNICATES, COMPUTES, COMMUNICATES):
        opened = parser.open(
            file.location, file.state, cache=cache, part="summary", rules=rules[text]
        )
        calls.append(records(opened.trace).frame.height)
        assert user_rules(opened.trace) == rules[text]
        assert read_summary(file.location, opened.state, cache, rules[text]) is not None
    assert calls == [1, 0, 1]
    assert read_summary(file.location, file.state, cache, NO_RULES) is None


def test_a_worker_process_follows_the_rules_it_is_handed(tmp_path: Path, file: SpanFile) -> None:
    cache = CacheFolder(tmp_path / "cache")
    rules = parse_user_rules(COMMUNICATES, "r.toml")
    parser = Parser(1)
    job = Job(file.location, file.state, cache, rules=rules)
    try:
        result = parser._processes.submit(ingest_file, job).result(60)
    finally:
        parser.close()
    assert result.problem is None
    summary = read_summary(file.location, file.state, cache, rules)
    assert summary is not None
    assert records(summary).frame["name"].to_list() == ["lab::exchange"]
