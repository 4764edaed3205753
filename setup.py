"""Builds the pages and the compiled decoder into the package; the rest is in ``pyproject.toml``.

``build_py`` runs ``npm ci`` and ``npm run build`` in ``fe/`` when the pages are missing or older
than their sources. An sdist (it has a ``PKG-INFO``) comes with its pages, whatever its files' times
say. ``TORCH_TB_PROFILER_SKIP_FE=1`` builds without pages: the command line, the
Python API and the HTTP answers work, the pages say that they are missing.

The decoder (``native/``, Rust without any crate) is built where ``cargo`` is; without it, or with
``TORCH_TB_PROFILER_SKIP_NATIVE=1``, the package is complete too and reads more slowly.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools_rust import Binding, RustExtension, Strip

ROOT = Path(__file__).resolve().parent
PAGES = ROOT / "torch_tb_profiler" / "static"
SOURCES = ROOT / "fe"
SKIP_VARIABLE = "TORCH_TB_PROFILER_SKIP_FE"
SKIP_NATIVE_VARIABLE = "TORCH_TB_PROFILER_SKIP_NATIVE"
MIN_NODE = (20, 19)
"""What the bundler needs (``engines`` in ``fe/package.json``)."""

NOT_SOURCES = {"node_modules", "dist", "test-results", "playwright-report", "e2e"}


class BuildPages(build_py):
    """``build_py`` with the pages built first. An editable install leaves them to ``make fe``."""

    def run(self) -> None:
        """Build the pages, then copy what the wheel holds."""
        if not self.editable_mode:
            build_pages()
            # What an earlier build left has other hashes in its names and would come along.
            shutil.rmtree(Path(self.build_lib) / "torch_tb_profiler" / "static", ignore_errors=True)
        super().run()


class SdistWithPages(sdist):
    """``sdist`` with the built pages inside, so that a wheel made from it needs no Node."""

    def run(self) -> None:
        """Build the pages, then pack the sources with them."""
        build_pages()
        super().run()


def build_pages() -> None:
    """Build ``fe/`` into ``torch_tb_profiler/static/`` unless that is fresh.

    Raises:
        SystemExit: Node or npm is missing or too old, or the build fails; says what to do.
    """
    if os.environ.get(SKIP_VARIABLE) == "1" or _pages_are_fresh():
        return
    npm = _npm()
    for arguments in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        print(f"torch-tb-profiler: npm {' '.join(arguments)} in {SOURCES}", flush=True)
        if subprocess.run([npm, *arguments], cwd=SOURCES, check=False).returncode != 0:
            sys.exit(
                f"torch-tb-profiler: 'npm {' '.join(arguments)}' failed in {SOURCES} (see above). "
                f"To install without the pages, set {SKIP_VARIABLE}=1."
            )


def _pages_are_fresh() -> bool:
    index = PAGES / "index.html"
    if (ROOT / "PKG-INFO").is_file() or not (SOURCES / "package.json").is_file():
        if not index.is_file():
            sys.exit(
                f"torch-tb-profiler: neither the pages ({index}) nor their sources ({SOURCES}) "
                f"are here. Fetch the whole repository or sdist, or set {SKIP_VARIABLE}=1."
            )
        return True
    if not index.is_file():
        return False
    built = index.stat().st_mtime
    return all(path.stat().st_mtime <= built for path in _source_files(SOURCES))


def _source_files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in NOT_SOURCES:
            continue
        if path.is_dir():
            yield from _source_files(path)
        else:
            yield path


def _npm() -> str:
    node, npm = shutil.which("node"), shutil.which("npm")
    advice = (
        f"Install Node {MIN_NODE[0]}.{MIN_NODE[1]} or newer with npm (https://nodejs.org, or "
        "'apt-get install nodejs npm', 'brew install node', 'conda install nodejs'), or set "
        f"{SKIP_VARIABLE}=1 to install without the pages."
    )
    if node is None or npm is None:
        missing = "node" if node is None else "npm"
        sys.exit(f"torch-tb-profiler: the pages cannot be built: no {missing} on PATH. {advice}")
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.(\d+)", answer.stdout)
    if version is None or (int(version[1]), int(version[2])) < MIN_NODE:
        sys.exit(
            f"torch-tb-profiler: the pages cannot be built: {node} is "
            f"{answer.stdout.strip() or 'broken'}. {advice}"
        )
    return npm


class AnyPythonWheel(bdist_wheel):
    """A wheel for every Python: the decoder is called through ``ctypes``, not the interpreter."""

    def get_tag(self) -> tuple[str, str, str]:
        """Only the platform matters, and only with the decoder."""
        _, _, platform = super().get_tag()
        return "py3", "none", platform


DECODER = RustExtension(
    "torch_tb_profiler.importers.kineto.compiled.decoder",
    path="native/Cargo.toml",
    binding=Binding.NoBinding,
    strip=Strip.All,
    debug=False,
    optional=True,
)

setup(
    cmdclass={"build_py": BuildPages, "sdist": SdistWithPages, "bdist_wheel": AnyPythonWheel},
    rust_extensions=[] if os.environ.get(SKIP_NATIVE_VARIABLE) == "1" else [DECODER],
)
