"""Whether this version is slower than another one: the same runs by turns, as ratios.

    python bench/compare_releases.py BASE             BASE: a wheel, or a revision of this tree
    python bench/compare_releases.py v1.0 --write     its table into docs/performance.md
    python bench/compare_releases.py BASE --factor 1 --rounds 3    a quick look

Both versions are unpacked into folders of their own and run with the same Python and libraries.
In each round every run is done by both, in changing order; of each the best round counts, since
other programs on the machine only add time. The exit code is 1 where a run takes more than
1.05 times as long (or as much memory) as with BASE.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import DOCUMENT, with_table
from make_ranks import make_run
from make_trace import OUT, trace_of
from processes import Measured, measured
from questions import COMMAND

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "torch_tb_profiler"
QUESTIONS = Path(__file__).resolve().parent / "questions.py"
MAX_RATIO = 1.05
RANKS = 32
VIEWS = "overview,operators,kernels"
SAMPLE = ROOT / "samples" / "h100_bert_small"


@dataclass(frozen=True)
class Version:
    """An unpacked version.

    Attributes:
        name: For people.
        folder: What holds its package.
    """

    name: str
    folder: Path

    def run(self, *arguments: object) -> Measured:
        """Its command line."""
        return measured([sys.executable, "-c", COMMAND, str(self.folder), *map(str, arguments)])

    def cache(self, name: str) -> Path:
        """A cache of its own."""
        return self.folder / "caches" / name


@dataclass(frozen=True)
class Run:
    """What is measured of both versions.

    Attributes:
        name: For people.
        measure: Does it once.
        prepare: Done once before, as filling a cache.
        with_memory: Whether peak memory is compared, too.
    """

    name: str
    measure: Callable[[Version], Measured]
    prepare: Callable[[Version], object] = lambda _: None
    with_memory: bool = False


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", metavar="BASE", help="a wheel, or a revision of this repository")
    parser.add_argument("--factor", type=int, default=10, help="times 35 MB (default: 10)")
    parser.add_argument("--rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--only", metavar="WORD", default="", help="runs with WORD in their names")
    parser.add_argument(
        "--write", action="store_true", help=f"put the table into docs/{DOCUMENT.name}"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        versions = (
            unpacked(arguments.base, Path(folder) / "base"),
            Version("today", working_tree(Path(folder) / "today")),
        )
        return compare(versions, arguments)


def compare(versions: tuple[Version, Version], arguments: argparse.Namespace) -> int:
    """Print the ratio of every run; 1 where one is above the limit."""
    rows: list[tuple[str, str, str, str]] = []
    is_slower = False
    for run in runs_of(arguments.factor):
        if arguments.only not in run.name:
            continue
        for name, base, today in compared(run, versions, arguments.rounds):
            ratio = today / base
            is_slower |= ratio > MAX_RATIO
            unit = "MB" if name.endswith("memory") else "s"
            rows.append((name, f"{base:.3g} {unit}", f"{today:.3g} {unit}", f"{ratio:.2f}"))
            print(f"{name:<44} {rows[-1][1]:>9} {rows[-1][2]:>9} {ratio:6.2f}", flush=True)
    if arguments.write:
        heading = ("run", versions[0].name, "today", "ratio")
        subject = f"best of {arguments.rounds} rounds by turns"
        text = DOCUMENT.read_text(encoding="utf-8")
        text = with_table(text, "releases", subject, [heading, *rows])
        DOCUMENT.write_text(text, encoding="utf-8")
    return int(is_slower)


def runs_of(factor: int) -> Sequence[Run]:
    """The runs: start-up, small and large reports, any view, many ranks, the timeline."""
    large, gigabyte, ranks = trace_of(factor), trace_of(3 * factor), OUT / f"ranks_{RANKS}"
    if not ranks.exists():
        make_run(ranks, RANKS)

    def report(path: Path, *options: object, views: str = VIEWS) -> Callable[[Version], Measured]:
        return lambda version: version.run(
            "report", path, "--view", views, "--format", "json", *options
        )

    def cached(name: str, path: Path) -> Callable[[Version], Measured]:
        return lambda version: report(path, "--cache-dir", version.cache(name))(version)

    def asked(kind: str) -> Callable[[Version], Measured]:
        return lambda version: measured(
            [sys.executable, str(QUESTIONS), kind, str(version.folder), str(large)]
        )

    return (
        Run("start-up: --help", lambda version: version.run("--help")),
        Run("small report", report(SAMPLE, "--no-cache", views="overview")),
        Run("small report from the cache", cached("small", SAMPLE), cached("small", SAMPLE)),
        Run(f"{35 * factor} MB, three views, cold", report(large, "--no-cache"), with_memory=True),
        Run(
            f"{35 * factor} MB, three views, from the cache",
            cached("large", large),
            cached("large", large),
        ),
        Run(
            f"{105 * factor} MB, three views, cold",
            report(gigabyte, "--no-cache"),
            with_memory=True,
        ),
        Run("any view, 100 random questions", asked("views")),
        Run("timeline, 200 screens", asked("timeline")),
        Run(
            f"{RANKS} ranks, distributed, cold",
            report(ranks, "--no-cache", views="distributed"),
            with_memory=True,
        ),
    )


def compared(
    run: Run, versions: tuple[Version, Version], rounds: int
) -> list[tuple[str, float, float]]:
    """Figures of one run: name, that of the base, that of today."""
    base, today = done = ([], [])  # type: tuple[list[Measured], list[Measured]]
    for version in versions:
        run.prepare(version)
    for number in range(rounds):
        order = range(len(versions)) if number % 2 == 0 else reversed(range(len(versions)))
        for place in order:
            done[place].append(run.measure(versions[place]))
    figures = [(run.name, min(map(seconds, base)), min(map(seconds, today)))]
    if run.with_memory:
        figures.append((f"{run.name}: memory", peak_mb(base), peak_mb(today)))
    return figures


def seconds(run: Measured) -> float:
    """What a run says of its own time (``questions.py``), else its wall time."""
    text = run.output.strip()
    return float(text.removeprefix("seconds ")) if text.startswith("seconds ") else run.wall_s


def peak_mb(runs: Sequence[Measured]) -> float:
    """The least of the peaks of memory."""
    return min(each.peak_rss_mb for each in runs)


def unpacked(base: str, folder: Path) -> Version:
    """A wheel or a revision, unpacked.

    Raises:
        SystemExit: it is neither.
    """
    folder.mkdir(parents=True)
    if base.endswith(".whl"):
        with zipfile.ZipFile(base) as wheel:
            wheel.extractall(folder)
        return Version(Path(base).name, folder)
    for parts in ((PACKAGE, "native"), (PACKAGE,)):  # older ones have no decoder to compile
        command = ("git", "archive", base, *parts)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if done.returncode == 0:
            break
    else:
        raise SystemExit(f"{base} is neither a wheel nor a revision: {done.stderr.decode()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder)
    if (folder / "native").is_dir():
        compile_decoder(folder)
    return Version(base, folder)


def compile_decoder(folder: Path) -> None:
    """Compile the decoder of an unpacked revision into its package.

    Raises:
        subprocess.CalledProcessError: it cannot be compiled here.
    """
    subprocess.run(["cargo", "build", "--release"], cwd=folder / "native", check=True)
    (library,) = (folder / "native" / "target" / "release").glob("libtorch_tb_profiler_native.so")
    target = folder / PACKAGE / "importers" / "kineto" / "compiled"
    target.mkdir()
    shutil.copy(library, target / "decoder.so")


def working_tree(folder: Path) -> Path:
    """The package as it stands here, copied: edits during the runs do not count."""
    ignored = shutil.ignore_patterns("static", "__pycache__")
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=ignored)
    return folder


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    sys.exit(main())
