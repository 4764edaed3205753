"""The command ``cache`` on a bucket of each store: what it holds, cleaning by size and by age, and
what lies beside the entries stays.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cloud.emulators import BUCKET, Emulator
from torch_tb_profiler.cli import main
from torch_tb_profiler.storage import eviction
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.shared_cache import SharedCacheFolder


def filled(size_bytes: int) -> Callable[[Path], object]:
    return lambda folder: (folder / "data").write_bytes(bytes(size_bytes))


def test_a_bucket_is_cleaned(
    store: Emulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = store.url("cleaned")
    store.put({"cleaned/beside.pt.trace.json": b"{}"})
    cache = SharedCacheFolder(open_location(url), tmp_path / "here")
    for letter in "ab":
        assert cache.store(letter * 40, filled(1000))
    command = ["cache", f"--cache-dir={url}"]
    assert main(command) == 0
    assert f"{url}: 2 entries, " in capsys.readouterr().out
    assert main([*command, "--clean", "--max-gb", "1e-9"]) == 0
    told = capsys.readouterr()
    assert "2 entries" in told.out
    assert "written within the last hour" in told.err
    monkeypatch.setattr(eviction, "PROTECTED_S", -60.0)
    assert main([*command, "--clean", "--older-than", "1"]) == 0
    assert "2 entries" in capsys.readouterr().out
    assert main([*command, "--clean", "--max-gb", "1e-9"]) == 0
    assert "Removed: 2 entries" in capsys.readouterr().out
    left = store.filesystem.find(f"{BUCKET}/cleaned")
    assert [path.rpartition("/")[2] for path in left] == ["beside.pt.trace.json"]
