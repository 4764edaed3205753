"""Tries the packages in ``dist/`` as a user meets them: ``make dist`` ends with it.

What they hold is looked at; then each, wheel and sdist, is installed into an environment of its
own, in which a report is made, the pages are served and TensorBoard finds the plugin. The PATH has
no Node, so an sdist whose pages had to be built would fail.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
TRACE = SAMPLES / "cpu_slowloader_nw0"
START_S = 120.0
"""How long a server may take to answer."""
WITHOUT_NODE = "/usr/bin:/bin"
DECODER = "torch_tb_profiler/importers/kineto/compiled/decoder"


def main() -> int:
    """Try all packages of a folder; the exit code is 1 where one is not as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist")
    folder = parser.parse_args().folder.resolve()
    wheels = sorted(folder.glob("*.whl"))
    (sdist,) = folder.glob("*.tar.gz")
    try:
        assert len(wheels) == 2, f"one wheel with the compiled decoder and one without: {wheels}"
        for wheel in wheels:
            check_wheel(wheel)
        check_sdist(sdist)
        for package in (*wheels, sdist):
            try_package(package)
    except (AssertionError, subprocess.CalledProcessError) as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        return 1
    print(f"{', '.join(package.name for package in (*wheels, sdist))} install and work.")
    return 0


def check_wheel(wheel: Path) -> None:
    """The wheel holds all modules, rules and pages of the checkout, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    package = ROOT / "torch_tb_profiler"
    wanted = {
        str(path.relative_to(ROOT))
        for path in package.rglob("*")
        if path.is_file()
        and (path.suffix in {".py", ".toml", ".json"} or path.name == "py.typed")
        and "static" not in path.parts
    }
    missing = wanted - names
    assert not missing, f"{wheel.name} lacks {sorted(missing)}"
    pages = {name for name in names if name.startswith("torch_tb_profiler/static/")}
    assert "torch_tb_profiler/static/index.html" in pages, f"{wheel.name} has no pages"
    decoders = {name for name in names if name.startswith(DECODER)}
    is_pure = wheel.name.endswith("-any.whl")
    assert len(decoders) == (0 if is_pure else 1), f"{wheel.name} holds {decoders or 'no decoder'}"
    others = {name for name in names - wanted - pages - decoders if ".dist-info/" not in name}
    assert not others, f"{wheel.name} holds {sorted(others)} too"
    licences = {Path(name).name for name in names if "/licenses/" in name}
    assert licences == {"LICENSE", "THIRD_PARTY_NOTICES.md"}, f"{wheel.name}: {licences}"


def check_sdist(sdist: Path) -> None:
    """The sdist holds the pages and what a wheel is built from, and nothing that was built."""
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    needed = ("pyproject.toml", "setup.py", "CHANGELOG.md", "fe/package.json", "native/src/lib.rs")
    for name in needed:
        assert name in names, f"{sdist.name} lacks {name}"
    assert "torch_tb_profiler/static/index.html" in names, f"{sdist.name} has no pages"
    built = re.compile(r"(tests|samples)/|(.*/)?(node_modules|__pycache__|target)/")
    stray = [name for name in names if built.match(name)]
    assert not stray, f"{sdist.name} holds {sorted(stray)[:5]} too"


def try_package(package: Path) -> None:
    """Install a wheel or an sdist into a new environment and use all its faces."""
    print(f"{package.name}: installing it into a new environment", flush=True)
    with tempfile.TemporaryDirectory(prefix="torch_tb_profiler_") as name:
        home = Path(name)
        venv.create(home / "venv", with_pip=True)
        binaries = home / "venv" / "bin"
        environment = {
            **{key: text for key, text in os.environ.items() if key != "PYTHONPATH"},
            "PATH": f"{binaries}:{WITHOUT_NODE}",
            "TORCH_TB_PROFILER_CACHE_DIR": str(home / "cache"),
        }

        def run(*command: str) -> str:
            return subprocess.run(
                command, cwd=home, env=environment, check=True, stdout=subprocess.PIPE, text=True
            ).stdout

        python = str(binaries / "python")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package))
        program = str(binaries / "torch-tb-profiler")
        _, version, *_ = run(program, "--version").split()
        assert f"-{version}" in package.name, f"{package.name} says it is version {version}"
        answer = json.loads(run(program, "report", str(TRACE), "--format", "json"))
        assert answer["tables"]["steps"]["row_count"] > 0, "the report has no step"
        try_server([program, "serve", str(SAMPLES), "--port", "0"], "", home, environment)
        board = [str(binaries / "tensorboard"), "--logdir", str(SAMPLES), "--port", "0"]
        try_server(board, "data/plugin/pytorch_profiler/", home, environment)


def try_server(command: list[str], prefix: str, home: Path, environment: dict[str, str]) -> None:
    """Start a server of the pages; the page, its script and its list of runs must be there."""
    with _server(command, home, environment) as url:
        page = _get(f"{url}/{prefix}index.html")
        script = re.search(r'src="\.?/?([^"]+\.js)"', page)
        assert script is not None, f"{command[0]}: the page has no script"
        assert len(_get(f"{url}/{prefix}{script[1]}")) > 1000, f"{command[0]}: no script"
        runs = _get(f"{url}/{prefix or 'api/'}runs")
        assert '"schema_version"' in runs, f"{command[0]}: {runs[:200]}"
        if prefix:
            listing = json.loads(_get(f"{url}/data/plugins_listing"))
            assert "pytorch_profiler" in listing, "TensorBoard does not know the plugin"


@contextlib.contextmanager
def _server(command: list[str], home: Path, environment: dict[str, str]) -> Iterator[str]:
    """The running server's address, from what it prints."""
    log = home / f"{Path(command[0]).name}.log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT
        ) as server,
    ):
        try:
            yield _address(server, log)
        finally:
            server.terminate()


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        address = re.search(r"http://[\w.-]+:\d+", log.read_text())
        if address is not None:
            return address[0]
        time.sleep(0.2)
    raise AssertionError(f"{server.args!r} does not listen: {log.read_text()[-2000:]}")


def _get(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=START_S) as answer:
            text: str = answer.read().decode()
            return text
    except urllib.error.URLError as error:
        raise AssertionError(f"{url}: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
