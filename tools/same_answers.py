"""Whether two states of the program answer alike: every view, file, screen and comparison.

    python tools/same_answers.py write OUT              what this state answers, as files
    python tools/same_answers.py compare BEFORE AFTER   what differs between two of them

To compare with another state, write with that one on the path:
``PYTHONPATH=/path/to/other python tools/same_answers.py write /tmp/before``.

Only public contracts are used (HTTP routes and the command line), so that one version of this
program runs on both states. Numbers that differ are printed with where they stand and make the exit
code 1; texts that differ are printed once each, for a person to read.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import itertools
import json
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples"
CORPUS = ROOT.parent / "shared" / "corpus"
SLICES = 12
"""Slices per trace that are asked for, spread evenly."""
WIDTH_PX = 1200
FORMATS = ("table", "md")
"""Formats of reports; JSON and CSV are those of the server."""
VOLATILE = {"mb_per_s", "eta_s", "progress", "modified_s", "retry_s", "version", "version_text"}
"""Keys that tell of this run of the program or of the file's date."""

NO_TRACES = ("LICENSES", "record", "scripts")

Member = tuple[str, str, str]
"""Run, worker and span."""


def inputs() -> list[Path]:
    """Every folder of the samples and of the corpus, a trace or several each; some are in both."""
    folders = [*(CORPUS.iterdir() if CORPUS.is_dir() else ()), *SAMPLES.iterdir()]
    by_name = {path.name: path for path in folders if path.is_dir()}
    return [by_name[name] for name in sorted(by_name) if name not in NO_TRACES]


class Server:
    """The pages' server of one folder, on a free port."""

    def __init__(self, folder: Path, cache: str) -> None:
        command = [sys.executable, "-m", "torch_tb_profiler", "serve", str(folder)]
        options = ["--port", "0", "--cache-dir", cache, "--workers", "2"]
        self._process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        match = re.search(r"https?://\S+", line)
        if match is None:
            raise SystemExit(f"No address in what `serve` printed: {line!r}")
        self._url = match[0].rstrip("/")

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()

    def get(self, route: str, **parameters: str) -> bytes:
        """The body of an answer, also of an error; asked again while a trace is being read."""
        query = urllib.parse.urlencode(parameters)
        while True:
            try:
                with urllib.request.urlopen(f"{self._url}/api/{route}?{query}") as answer:
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, body = error.code, error.read()
            if status not in (202, 503):
                return bytes(body)

    def json(self, route: str, **parameters: str) -> Any:
        """The same, decoded."""
        return json.loads(self.get(route, **parameters))

    def members(self) -> list[Member]:
        """Every trace of the folder, as soon as its files are listed."""
        while (runs := self.json("runs"))["discovering"]:
            pass
        return [
            (run["name"], worker["name"], span["name"])
            for run in runs["runs"]
            for worker in run["workers"]
            for span in worker["spans"]
        ]


def write(folder: Path, out: Path) -> None:
    """Every answer about the traces of ``folder``, as files in ``out``."""
    with tempfile.TemporaryDirectory() as cache:
        server = Server(folder, cache)
        try:
            before: Member | None = None
            for number, member in enumerate(server.members()):
                of_member = out / f"{number:02d}.{'.'.join(member)}".replace("/", "_")[:150]
                of_member.mkdir(parents=True)
                write_trace(server, member, of_member, before)
                before = member
        finally:
            server.close()
        for format_ in FORMATS:
            for views in ("all", "summary"):
                wanted = ["--view", views, "--format", format_, "--cache-dir", cache]
                report(folder, out / f"report.{views}-{format_}", *wanted)
        report(folder, out / "dlprof", "--reports", "all", "--cache-dir", cache)


def report(folder: Path, out: Path, *options: str) -> None:
    """What ``report`` writes into files and says on its streams."""
    command = [sys.executable, "-m", "torch_tb_profiler", "report", str(folder)]
    done = subprocess.run(
        [*command, *options, "--output", str(out)], capture_output=True, text=True, check=False
    )
    out.mkdir(parents=True, exist_ok=True)
    said = f"exit {done.returncode}\n{done.stdout}\n{done.stderr}".replace(str(out), "OUT")
    (out / "streams.txt").write_text(said, encoding="utf-8")


def write_trace(server: Server, member: Member, out: Path, before: Member | None) -> None:
    """Every answer about one trace; compared with the one before it in the folder."""
    where = dict(zip(("run", "worker", "span"), member, strict=True))
    views = server.json("views", **where)
    save(out / "views.json", views)
    for view in views.get("views", ()):
        name = view["name"]
        if not view["available"] or view["scope"] == "pair":
            continue
        for group_by in view["group_bys"] or [""]:
            grouped = {"group_by": group_by} if group_by else {}
            answer = server.json(f"view/{name}", **where, **grouped)
            save(out / f"{name}.{group_by}.json", answer)
            for table in answer.get("tables", {}) if not group_by else ():
                csv = server.get(f"view/{name}", **where, format="csv", table=table)
                (out / f"{name}.{table}.csv").write_bytes(csv)
        for label, part in selections(server, where):
            save(out / f"{name}.{label}.json", server.json(f"view/{name}", **where, **part))
    keys = ("baseline_run", "baseline_worker", "baseline_span")
    sides = dict(zip(keys, before or member, strict=True))
    save(out / "compare.json", server.json("view/compare", **where, **sides))
    write_timeline(server, where, out)


def selections(server: Server, where: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Parts of a trace that every view is asked for."""
    steps = server.json("view/overview", **where).get("tables", {}).get("steps", {"rows": []})
    if steps["rows"]:
        yield "step", {"steps": str(steps["rows"][len(steps["rows"]) // 2][0])}
    yield "phase", {"phase": "forward"}
    yield "key_node", {"iterations_by": "auto"}
    end_us = server.json("timeline/tracks", **where).get("end_ns", 0) / 1000
    yield "range", {"start_us": f"{end_us / 4:.3f}", "end_us": f"{3 * end_us / 4:.3f}"}


def write_timeline(server: Server, where: dict[str, str], out: Path) -> None:
    """Tracks, screens, panels and slices."""
    tracks = server.json("timeline/tracks", **where)
    save(out / "timeline.tracks.json", tracks)
    end = int(tracks.get("end_ns") or 0)
    for label, start, stop in (("all", 0, end), ("part", end // 3, end // 3 + end // 20)):
        times = {"start_ns": str(start), "end_ns": str(stop)}
        screen = server.get("timeline", **where, **times, width_px=str(WIDTH_PX))
        digest = hashlib.sha256(screen).hexdigest()
        save(out / f"timeline.{label}.json", {"bytes": len(screen), "sha256": digest})
        for panel in ("range", "gaps", "critical_path"):
            answer = server.json(f"timeline/{panel}", **where, **times)
            save(out / f"timeline.{label}.{panel}.json", answer)
    names = server.json("timeline/names", **where, **{"from": "0"})
    save(out / "timeline.names.json", names)
    number = int(tracks.get("slice_count") or 0) or 1200
    for index in range(SLICES):
        id_ = index * number // SLICES
        save(out / f"slice.{id_}.json", server.json(f"slice/{id_}", **where))
    save(out / "namesakes.json", server.json("timeline/namesakes", **where, slice="0"))


def save(path: Path, answer: Any) -> None:
    """An answer as a file."""
    path.write_text(json.dumps(answer, indent=0, sort_keys=True), encoding="utf-8")


class Differences:
    """What differs between two folders of answers."""

    def __init__(self) -> None:
        self.values: Counter[str] = Counter()
        self.texts: Counter[tuple[str, str, str]] = Counter()
        self.places: dict[str, str] = {}

    def add(self, before: Path, after: Path) -> None:
        """All files of two folders."""
        sides = [
            {path.relative_to(side) for path in side.rglob("*") if path.is_file()}
            for side in (before, after)
        ]
        for path in sorted(sides[0] ^ sides[1]):
            self.value("file", f"{path}: only {'before' if path in sides[0] else 'after'}")
        for path in sorted(sides[0] & sides[1]):
            one, other = ((side / path).read_bytes() for side in (before, after))
            if one != other:
                self.compare_files(path, one, other)

    def compare_files(self, path: Path, one: bytes, other: bytes) -> None:
        """One file of both."""
        if path.suffix == ".json" and "dlprof" not in path.parts:
            self.compare(path, "", json.loads(one), json.loads(other))
            return
        lines = [text.decode("utf-8", "replace").splitlines() for text in (one, other)]
        matcher = difflib.SequenceMatcher(None, lines[0], lines[1], autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag != "equal":
                # Words only: a longer sentence breaks its lines and widens columns elsewhere.
                old, new = " ".join(lines[0][a:b]), " ".join(lines[1][c:d])
                if digits(old) != digits(new):
                    self.value(str(path), f"{old[:300]!r} → {new[:300]!r}")
                elif old.split() != new.split():
                    self.texts[path.suffix, old, new] += 1

    def compare(self, path: Path, where: str, one: Any, other: Any) -> None:
        """Two values of JSON."""
        if isinstance(one, dict) and isinstance(other, dict):
            for key in sorted(one.keys() | other.keys()):
                if key in VOLATILE:
                    continue
                if key not in one or key not in other:
                    self.value(f"{path}", f"{where}.{key}: only on one side")
                else:
                    self.compare(path, f"{where}.{key}", one[key], other[key])
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                self.value(f"{path}", f"{where}: {len(one)} → {len(other)} items")
            for number, (old, new) in enumerate(zip(one, other, strict=False)):
                self.compare(path, f"{where}[{number}]", old, new)
        elif isinstance(one, str) and isinstance(other, str):
            if one != other:
                self.texts[re.sub(r"\[\d+\]", "[]", where), one, other] += 1
                if digits(one) != digits(other):
                    self.places.setdefault(f"{one} → {other}", f"{path} {where}")
        elif one != other:
            self.value(f"{path}", f"{where}: {one!r} → {other!r}")

    def value(self, path: str, text: str) -> None:
        """A difference that is no text."""
        self.values[f"{path} {text}"] += 1

    def show(self) -> int:
        """Print them; the exit code."""
        for (where, one, other), count in sorted(self.texts.items()):
            print(f"text ×{count} {where}\n  - {one}\n  + {other}")
        for text, place in itertools.islice(self.places.items(), 50):
            print(f"digits differ, {place}: {text}")
        for text in itertools.islice(self.values, 200):
            print(f"VALUE {text}")
        print(f"{len(self.texts)} texts, {len(self.values)} values differ")
        return 1 if self.values else 0


def digits(text: str) -> Counter[str]:
    """The numbers in a text."""
    return Counter(re.findall(r"\d[\d.,]*", text))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="write what this state answers")
    writing.add_argument("out", type=Path)
    writing.add_argument("--only", default="", help="part of the names of folders")
    comparing = commands.add_parser("compare", help="compare two folders that were written")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        differences = Differences()
        differences.add(given.before, given.after)
        return differences.show()
    for folder in inputs():
        if given.only in folder.name:
            print(folder.name, flush=True)
            write(folder, given.out / f"{folder.parent.name}.{folder.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
