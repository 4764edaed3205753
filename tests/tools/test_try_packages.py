"""What ``make dist`` makes of packages that lack something or hold too much.

That good ones pass, install and work is what ``make dist`` itself shows.
"""

from __future__ import annotations

import importlib.util
import io
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = "torch_tb_profiler/static/index.html"
LICENCES = {f"x.dist-info/licenses/{name}" for name in ("LICENSE", "THIRD_PARTY_NOTICES.md")}
DECODER = "torch_tb_profiler/importers/kineto/compiled/decoder.so"
SOURCES = {
    "pyproject.toml",
    "setup.py",
    "CHANGELOG.md",
    "fe/package.json",
    "native/src/lib.rs",
    PAGE,
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "try_packages", ROOT / "tools" / "try_packages.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _modules() -> set[str]:
    package = ROOT / "torch_tb_profiler"
    kinds = ("*.py", "*.toml", "*.json", "py.typed")
    paths = {str(path.relative_to(ROOT)) for kind in kinds for path in package.rglob(kind)}
    return {path for path in paths if "/static/" not in path}


def _wheel(folder: Path, names: set[str], platform: str = "any") -> Path:
    wheel = folder / f"x-1-py3-none-{platform}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return wheel


def _sdist(folder: Path, names: set[str]) -> Path:
    sdist = folder / "x-1.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"x-1/{name}"), io.BytesIO())
    return sdist


def test_a_whole_wheel_and_sdist_are_taken(tool: ModuleType, tmp_path: Path) -> None:
    tool.check_wheel(_wheel(tmp_path, _modules() | LICENCES | {PAGE}))
    tool.check_wheel(_wheel(tmp_path, _modules() | LICENCES | {PAGE, DECODER}, "linux_x86_64"))
    tool.check_sdist(_sdist(tmp_path, SOURCES))


@pytest.mark.parametrize(
    ("without", "more", "message"),
    [
        ("torch_tb_profiler/py.typed", None, "lacks"),
        ("torch_tb_profiler/knowledge/gpus.toml", None, "lacks"),
        (PAGE, None, "no pages"),
        ("x.dist-info/licenses/LICENSE", None, "THIRD_PARTY"),
        (None, "tests/test_api.py", "too"),
        (None, "torch_tb_profiler/samples/a.json", "too"),
        (None, DECODER, "holds .*decoder"),
    ],
)
def test_a_wheel_that_lacks_something_or_holds_too_much_is_refused(
    tool: ModuleType, tmp_path: Path, without: str | None, more: str | None, message: str
) -> None:
    names = (_modules() | LICENCES | {PAGE}) - {without} | ({more} if more else set())
    with pytest.raises(AssertionError, match=message):
        tool.check_wheel(_wheel(tmp_path, {name for name in names if name}))


@pytest.mark.parametrize(
    ("without", "more", "message"),
    [
        (PAGE, None, "no pages"),
        ("fe/package.json", None, "lacks"),
        (None, "tests/test_api.py", "too"),
        (None, "fe/node_modules/x/index.js", "too"),
        ("native/src/lib.rs", None, "lacks"),
        (None, "native/target/release/x.rlib", "too"),
    ],
)
def test_an_sdist_that_lacks_something_or_holds_too_much_is_refused(
    tool: ModuleType, tmp_path: Path, without: str | None, more: str | None, message: str
) -> None:
    names = (SOURCES - {without}) | ({more} if more else set())
    with pytest.raises(AssertionError, match=message):
        tool.check_sdist(_sdist(tmp_path, {name for name in names if name}))
