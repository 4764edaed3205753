"""Questions to an opened trace by one version of the package, by its public API and by HTTP.

    python bench/questions.py views|timeline FOLDER TRACE

FOLDER holds the package. Prints the seconds that the answers took, without opening the trace.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

SEED = 17
QUESTIONS, SCREENS = 100, 200
COMMAND = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from torch_tb_profiler.cli import main; sys.exit(main())"
)
"""The command line of the version in the folder that is its first argument."""

VIEWS = ("overview", "operators", "kernels", "iterations", "memory", "phases", "groups",
         "operator_types", "efficiency", "idle", "critical_path", "modules")  # fmt: skip


def view_seconds(folder: Path, path: Path) -> float:
    """Seconds for random views of random steps, each as JSON."""
    sys.path.insert(0, str(folder))
    from torch_tb_profiler.api import open_trace  # noqa: PLC0415 - the version in folder

    trace = open_trace(path, cache_dir=folder / "caches" / "large")
    choice = random.Random(SEED)
    steps = trace.trace.steps["name"].to_list()
    ranges = [None, *(f"{a}:{b}" for a, b in itertools.combinations_with_replacement(steps, 2))]
    known = [name for name in VIEWS if _answers(trace, name)]
    started_s = time.perf_counter()
    for _ in range(QUESTIONS):
        trace.view(choice.choice(known), steps=choice.choice(ranges)).to_json()
    return time.perf_counter() - started_s


def _answers(trace: Any, name: str) -> bool:
    try:
        trace.view(name)
    except Exception:  # the trace or this version has none
        return False
    return True


def timeline_seconds(folder: Path, path: Path) -> float:
    """Seconds for random screens, over HTTP."""
    server = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(folder), "serve", str(path), "--port", "0",
         "--cache-dir", str(folder / "caches" / "large")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        match = None
        while match is None:
            match = re.search(r"http://127\.0\.0\.1:(\d+)", server.stdout.readline())
        base = f"http://127.0.0.1:{match[1]}/api/"
        tracks = _ready(base + "timeline/tracks")
        choice = random.Random(SEED)
        end_ns = tracks["end_ns"]
        keys = ",".join(track["key"] for track in tracks["tracks"])
        started_s = time.perf_counter()
        for _ in range(SCREENS):
            span = math.exp(choice.uniform(math.log(100_000), math.log(end_ns)))
            start = choice.uniform(0, end_ns - span)
            query = {"start_ns": start, "end_ns": start + span, "width_px": 1440, "tracks": keys}
            url = f"{base}timeline?{urllib.parse.urlencode(query)}"
            with urllib.request.urlopen(url) as answer:
                answer.read()
        return time.perf_counter() - started_s
    finally:
        server.terminate()
        server.wait()


def _ready(url: str) -> Any:
    """The answer, once the trace is open."""
    while True:
        with urllib.request.urlopen(url) as answer:
            if answer.status == 200:
                return json.load(answer)
        time.sleep(0.05)


if __name__ == "__main__":
    measure = {"views": view_seconds, "timeline": timeline_seconds}[sys.argv[1]]
    print("seconds", measure(Path(sys.argv[2]), Path(sys.argv[3])))
