"""Faults of disks, folders, names, clocks and languages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

from fault_scene import (
    LIMIT_S,
    SAMPLES,
    VIEWS,
    NotHereError,
    Scene,
    has_no_crash,
    holds_open,
    is_refused,
    is_right,
    mounted,
    needed,
    without_rights,
)
from make_trace import make_trace

SMALL = "h100_bert_small"
RANKS = "cpu_ddp4_gloo"
OTHERS = ("torch_compile_triton", "cpu_slowloader_nw0")
OTHER_USER = 54321
UNREADABLE = 3
"""The exit code for input that cannot be read."""


def full_cache(scene: Scene) -> None:
    """The cache's disk has room for some files of an entry only."""
    scene.add(SMALL)
    truth = scene.truth()
    ended = scene.report(before=mounted(scene.cache, "size=64k"))
    is_right(ended, truth)
    assert "not cached" in ended.err, ended.err
    is_right(scene.report(), truth)


def full_temporary_folder(scene: Scene) -> None:
    """Worker processes cannot hand over their tables: no cache, and no room for temporary files."""
    for number in range(3):
        scene.add_large(1, f"large{number}")
    truth = scene.truth()
    folder = scene.folder / "tmp"
    ended = scene.report(
        "--no-cache",
        "--workers",
        "2",
        before=mounted(folder, "size=16k"),
        environment={"TMPDIR": str(folder)},
    )
    is_right(ended, truth)


def read_only_home(scene: Scene) -> None:
    """Nothing can be written below the home folder."""
    scene.add(SMALL)
    truth = scene.truth()
    del scene.environment["TORCH_TB_PROFILER_CACHE_DIR"]
    scene.environment.pop("XDG_CACHE_HOME", None)
    home = scene.folder / "home"
    before = mounted(home, "ro,size=4k")
    is_right(scene.report(before=before, environment={"HOME": str(home)}), truth)


def no_home(scene: Scene) -> None:
    """No ``$HOME``, and a user id that no list of users knows, as in containers."""
    scene.add(SMALL)
    truth = scene.truth()
    if os.geteuid() != 0:
        raise NotHereError("root, to become a user that nobody knows")
    for name in ("HOME", "XDG_CACHE_HOME", "TORCH_TB_PROFILER_CACHE_DIR"):
        scene.environment.pop(name, None)
    rights = "+dac_override,+dac_read_search"
    who = [f"--reuid={OTHER_USER}", "--clear-groups"]
    may = [f"--inh-caps={rights}", f"--ambient-caps={rights}"]
    ended = scene.report(before=[needed("setpriv", "util-linux"), *who, *may])
    is_right(ended, truth)
    assert not (scene.folder / "~").exists(), "a folder named ~ was made"


def cache_of_another_user(scene: Scene) -> None:
    """The cache folder belongs to somebody else, who lets nobody in."""
    scene.add(SMALL)
    truth = scene.truth()
    is_right(scene.report(), truth)
    if os.geteuid() != 0:
        raise NotHereError("root, to give a folder away")
    for path in (scene.cache, *scene.cache.rglob("*")):
        os.chown(path, OTHER_USER, OTHER_USER)
        path.chmod(0o700 if path.is_dir() else 0o600)
    ended = scene.report(before=without_rights())
    is_right(ended, truth)


def cache_deleted_while_serving(scene: Scene) -> None:
    """Somebody cleans up below a server."""
    scene.add(SMALL)
    scene.add(RANKS)
    with scene.server() as server:
        before = server.get(f"view/overview?run={SMALL}")
        shutil.rmtree(scene.cache, ignore_errors=True)
        assert server.get(f"view/overview?run={SMALL}") == before
        status, answer = server.get(f"view/distributed?run={RANKS}")
        assert status == 200, answer
        shutil.rmtree(scene.cache, ignore_errors=True)
        assert server.get(f"view/operators?run={RANKS}")[0] == 200
        has_no_crash(server.log)


def two_servers_and_an_ingest(scene: Scene) -> None:
    """Two servers and an ingest parse the same traces into the same cache at the same time."""
    for sample in (RANKS, SMALL, *OTHERS):
        scene.add(sample)
    questions = [f"view/distributed?run={RANKS}"]
    questions += [f"view/overview?run={sample}" for sample in (RANKS, SMALL, *OTHERS)]
    answers: dict[tuple[int, str], object] = {}
    with scene.server() as one, scene.server() as other:
        servers = {1: one, 2: other}
        ingest = scene.begin("ingest", str(scene.traces))

        def ask(number: int, question: str) -> None:
            answers[number, question] = servers[number].get(question)

        asked = [(number, question) for number in servers for question in questions]
        threads = [threading.Thread(target=ask, args=each) for each in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _, err = ingest.communicate(timeout=LIMIT_S)
        has_no_crash(one.log + other.log + err.decode())
        assert ingest.returncode == 0, err.decode()
    assert not list(scene.cache.glob("tmp/*")), "something unfinished is left"
    with scene.server("--no-cache") as third:
        for question in questions:
            right = third.get(question)
            assert answers[1, question] == answers[2, question] == right, question
    is_right(scene.report(), scene.truth())


def file_truncated_while_read(scene: Scene) -> None:
    """A large file loses its second half in the middle of a reading."""
    path = scene.add_large(3)
    whole = scene.truth()
    process = _in_the_middle(scene, path)
    os.truncate(path, path.stat().st_size // 2)
    out, err = process.communicate(timeout=LIMIT_S)
    has_no_crash(err.decode())
    if process.returncode == UNREADABLE:
        assert "changed" in err.decode(), err.decode()
        return
    assert json.loads(out) in (whole, scene.truth()), "the numbers are of neither file"


def file_replaced_while_read(scene: Scene) -> None:
    """Another file takes the place of a large one in the middle of a reading."""
    path = scene.add_large(3)
    other = scene.folder / "other.json"
    make_trace(2, other)
    old = scene.truth()
    process = _in_the_middle(scene, path)
    other.replace(path)
    out, err = process.communicate(timeout=LIMIT_S)
    has_no_crash(err.decode())
    assert process.returncode == 0, err.decode()
    new = scene.truth()
    assert old != new
    assert json.loads(out) in (old, new), "the numbers are of neither file"
    is_right(scene.report(), new)


def permission_lost(scene: Scene) -> None:
    """A server has seen a file; then its owner forbids to read it."""
    scene.add(SMALL)
    forbidden = scene.add(RANKS, "forbidden")
    with scene.server(before=without_rights()) as server:
        status, answer = server.get("runs")
        assert status == 200
        assert len(answer["runs"]) == 2
        for path in forbidden.iterdir():
            path.chmod(0)
        status, answer = server.get("view/overview?run=forbidden")
        assert (status, answer["error"]["code"]) == (403, "permission_denied"), answer
        assert server.get(f"view/overview?run={SMALL}")[0] == 200
        has_no_crash(server.log)
    ended = scene.report("--run", "forbidden", before=without_rights())
    is_refused(ended, "No permission to read", "rank0")


def clock_set_back(scene: Scene) -> None:
    """Traces and cache entries are two days younger than the clock says."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if library is None:
        raise NotHereError("libfaketime (Debian's package libfaketime)")
    scene.add(RANKS)
    truth = scene.truth()
    back = {"LD_PRELOAD": str(library), "FAKETIME": "-2d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    is_right(scene.report(), truth)
    is_right(scene.report(environment=back), truth)
    shutil.rmtree(scene.cache)
    is_right(scene.report(environment=back), truth)
    is_right(scene.report(), truth)


def names_that_are_no_utf8(scene: Scene) -> None:
    """Folder and file have names of bytes that are no UTF-8."""
    (source,) = (SAMPLES / SMALL).glob("*.gz")
    folder = scene.traces / os.fsdecode(b"run\xff\xfe")
    folder.mkdir()
    shutil.copy(source, folder / os.fsdecode(b"w\xe9.pt.trace.json.gz"))
    for form in ("json", "table", "md"):
        ended = scene.run("report", str(scene.traces), "--format", form)
        has_no_crash(ended.err)
        assert ended.code == 0, ended.err
        ended.out.decode("utf-8")
    with scene.server() as server:
        assert server.get("view/overview")[0] == 200
        has_no_crash(server.log)


def c_locale(scene: Scene) -> None:
    """The language is ``C``: Python takes terminal and names for ASCII."""
    scene.add(SMALL, "größe_训练")
    truth = scene.truth()
    plain = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ended = scene.report(environment=plain)
    is_right(ended, truth)
    for form in ("table", "md", "csv"):
        table = ("--table", "operators") if form == "csv" else ()
        ended = scene.run(
            "report", str(scene.traces), "--view", "operators", "--format", form, *table,
            environment=plain,
        )  # fmt: skip
        has_no_crash(ended.err)
        assert ended.code == 0, ended.err


def _in_the_middle(scene: Scene, path: Path) -> subprocess.Popen[bytes]:
    """A report that has begun to read its only file."""
    process = scene.begin("report", str(scene.traces), "--view", VIEWS, "--format", "json")
    while process.poll() is None and not holds_open(process.pid, path):
        pass
    return process
