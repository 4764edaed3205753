"""Cases, in S3, Google Cloud Storage and Azure: objects of any name are told by a head each, once;
none is read where names alone are to be gone by; dates of objects.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cloud.emulators import Emulator
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.storage.format_detection import REMOTE_BYTES

Writer = Callable[..., Path]


@pytest.fixture
def url(store: Emulator, tmp_path: Path, write_trace: Writer) -> str:
    trace = write_trace(tmp_path / "trace.json", ("aten::mm",)).read_bytes()
    other = b'{"model_type": "llama"}'
    store.put(
        {
            "heads/exp/w.pt.trace.json": trace,
            "heads/exp2/trace.json": trace + b" " * 2 * REMOTE_BYTES,
            "heads/exp2/bs8.json.gz": gzip.compress(trace),
            **{f"heads/model/config_{number}.json": other for number in range(20)},
        }
    )
    store.forget()
    return store.url("heads")


def test_objects_of_any_name_are_told_by_one_head_each(store: Emulator, url: str) -> None:
    catalog = Catalog([TraceRoot(url)], cache=None)
    contents = catalog.contents()
    assert list(contents.runs) == ["exp", "exp2", "exp2/bs8"]
    assert contents.skipped_counts == {"not_a_trace": 20}
    assert len(store.downloads()) == 22
    ages_s = [time.time() - (file.state.modified_s or 0.0) for file in contents.files()]
    assert all(-3600 < age_s < 3600 for age_s in ages_s)
    assert list(catalog.refresh().runs) == list(contents.runs)
    assert len(store.downloads()) == 22


def test_no_head_is_read_by_names_alone(
    store: Emulator, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_TB_PROFILER_NAMES_ONLY", "1")
    catalog = Catalog([TraceRoot(url)], cache=None)
    assert list(catalog.contents().runs) == ["exp"]
    assert store.downloads() == []
