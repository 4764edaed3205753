"""A run of a thousand ranks: how long its ingest takes, and how soon its views are there.

    python bench/ranks.py                  1 024 ranks of 2 MB
    python bench/ranks.py --ranks 128      a quick look
    python bench/ranks.py --ranks 8192 --shape small

The view is asked of a server of its own, started after the ingest, by HTTP; the first answer
includes finding the files and reading the summaries.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from figures import Figure, add_options, machine, tell
from make_ranks import SHAPES, make_run
from make_trace import OUT
from processes import Measured, measured

WAIT_S = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=1024, help="how many (default: 1024)")
    parser.add_argument("--workers", type=int, default=2, help="cores that parse (default: 2)")
    parser.add_argument("--shape", choices=[*SHAPES], default="usual", help="size of each rank")
    add_options(parser)
    arguments = parser.parse_args()
    ranks, part = arguments.ranks, max(1, arguments.ranks // 4)
    shape = arguments.shape
    whole, quarter = OUT / f"ranks{ranks}-{shape}", OUT / f"ranks{part}-{shape}"
    for folder, count in ((whole, ranks), (quarter, part)):
        if not folder.is_dir():
            make_run(folder, count, SHAPES[shape])
    size_mb = sum(file.stat().st_size for file in whole.iterdir()) / 1e6
    subject = f"{ranks:,} ranks, {size_mb:,.0f} MB"
    print(f"{machine()}; {subject}", flush=True)
    few = ingest(quarter, arguments.workers)
    many = ingest(whole, arguments.workers)
    growth = (many.wall_s / ranks) / (few.wall_s / part)
    figures = [
        Figure(f"ingest of {part} ranks, wall", few.wall_s, "s"),
        Figure(f"ingest of {ranks} ranks, wall", many.wall_s, "s"),
        Figure("ingest: speed", size_mb / many.wall_s, "MB/s"),
        Figure("ingest: peak memory, children included", many.peak_rss_mb, "MB"),
        Figure("ingest: time per rank, against a quarter of them", growth, "times", 1.2),
        *views(whole),
    ]
    tell("ranks", subject, figures, arguments)


def ingest(folder: Path, workers: int) -> Measured:
    shutil.rmtree(cache_of(folder), ignore_errors=True)
    command = [sys.executable, "-m", "torch_tb_profiler", "ingest", str(folder)]
    options = ["--cache-dir", str(cache_of(folder)), "--workers", str(workers)]
    return measured([*command, *options])


def views(folder: Path) -> list[Figure]:
    command = [sys.executable, "-m", "torch_tb_profiler", "serve", str(folder), "--port", "0"]
    options = ["--cache-dir", str(cache_of(folder))]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            ranks_s = answered_s(f"{found[0]}api/view/ranks")
            url = f"{found[0]}api/view/distributed"
            first_s = answered_s(url)
            again_s = statistics.median(answered_s(url) for _ in range(5))
            steps_s = answered_s(f"{url}?steps=1")
            peak_mb = peak_memory_mb(server.pid)
        finally:
            server.terminate()
    return [
        Figure("view of ranks, first answer of a new server", ranks_s, "s", 10.0),
        Figure("distributed view, first answer after it", first_s, "s", 10.0),
        Figure("distributed view again", again_s, "s", 2.0),
        Figure("distributed view of one step", steps_s, "s", 2.0),
        Figure("server: peak memory", peak_mb, "MB", 1500),
    ]


def answered_s(url: str) -> float:
    started_s = time.perf_counter()
    while time.perf_counter() - started_s < WAIT_S:
        with urllib.request.urlopen(url, timeout=WAIT_S) as answer:
            answer.read()
            if answer.status == 200:
                return time.perf_counter() - started_s
    raise RuntimeError(f"{url} has no answer after {WAIT_S} s")


def peak_memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) * 1024 / 1e6


def cache_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-cache")


if __name__ == "__main__":
    main()
