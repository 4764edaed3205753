"""Cases: only entries are counted and removed, whatever else the bucket has; the oldest is removed
first; new entries and those of unknown age stay; each store's form of the time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.storage.bucket_cleaning import clean_bucket
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location

NOW = datetime.now(timezone.utc)
ENTRIES = [f"entries/{letter * 40}.tar.gz" for letter in "abcd"]
FOREIGN = ["trace.pt.trace.json", "entries/notes.txt", "entries/x/" + ENTRIES[0], "signed/README"]


class _Listed:
    """A store that lists objects with what it says of each."""

    protocol = "listed"

    def __init__(self, objects: dict[str, dict[str, Any]]) -> None:
        self.objects = {f"bucket/cache/{name}": info for name, info in objects.items()}

    def find(self, _path: str, detail: bool) -> dict[str, dict[str, Any]]:
        assert detail
        return dict(self.objects)

    def rm_file(self, path: str) -> None:
        if path.endswith("d" * 40 + ".tar.gz"):
            raise PermissionError(path)
        del self.objects[path]

    @property
    def bucket(self) -> Location:
        return Location("listed://bucket/cache/", "bucket/cache/", self)

    @property
    def names(self) -> set[str]:
        return {path.removeprefix("bucket/cache/") for path in self.objects}


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def test_the_oldest_entries_go_and_nothing_else() -> None:
    store = _Listed(
        {
            ENTRIES[0]: {"size": 100, "LastModified": days_ago(30)},
            ENTRIES[1]: {"size": 100, "updated": days_ago(20).isoformat().replace("+00:00", "Z")},
            ENTRIES[2]: {"size": 100, "last_modified": days_ago(10).replace(tzinfo=None)},
            **{name: {"size": 1 << 40, "LastModified": days_ago(99)} for name in FOREIGN},
        }
    )
    cleaned = clean_bucket(store.bucket, max_bytes=None, unused_since_s=None)
    assert (cleaned.remaining, cleaned.remaining_bytes, cleaned.removed) == (3, 300, 0)
    cleaned = clean_bucket(store.bucket, max_bytes=250, unused_since_s=None)
    assert (cleaned.remaining, cleaned.remaining_bytes, cleaned.removed_bytes) == (2, 200, 100)
    assert store.names == {*ENTRIES[1:3], *FOREIGN}
    cleaned = clean_bucket(store.bucket, max_bytes=None, unused_since_s=days_ago(15).timestamp())
    assert store.names == {ENTRIES[2], *FOREIGN}


def test_what_is_new_or_of_unknown_age_stays() -> None:
    store = _Listed(
        {
            ENTRIES[0]: {"size": 100, "LastModified": NOW},
            ENTRIES[1]: {"size": 100},
            ENTRIES[2]: {"size": 100, "LastModified": "yesterday"},
        }
    )
    cleaned = clean_bucket(store.bucket, max_bytes=1, unused_since_s=NOW.timestamp() + 9)
    assert (cleaned.remaining, cleaned.removed) == (3, 0)


def test_signed_entries_and_unfinished_ones_count() -> None:
    names = [f"signed/{'0a' * 8}/{'e' * 40}", f"{ENTRIES[0]}.{'1' * 32}"]
    store = _Listed({name: {"size": 1, "mtime": 0.0} for name in names})
    assert clean_bucket(store.bucket, max_bytes=None, unused_since_s=1.0).removed == 2
    assert store.names == set()


def test_an_entry_that_cannot_be_removed_is_logged_and_others_are_removed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = _Listed({name: {"size": 100, "mtime": 0.0} for name in ENTRIES})
    cleaned = clean_bucket(store.bucket, max_bytes=None, unused_since_s=1.0)
    assert (cleaned.remaining, cleaned.removed) == (1, 3)
    assert "not removed" in caplog.text


def test_a_bucket_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    store = _Listed({})
    store.find = None  # type: ignore[method-assign,assignment]
    with pytest.raises(StorageError):
        clean_bucket(store.bucket, max_bytes=None, unused_since_s=None)
    assert not list(tmp_path.iterdir())


def test_a_dry_run_removes_nothing() -> None:
    store = _Listed({name: {"size": 100, "LastModified": days_ago(30)} for name in ENTRIES})
    told = clean_bucket(store.bucket, max_bytes=200, unused_since_s=None, is_dry_run=True)
    assert (told.remaining, told.removed, told.removed_bytes) == (2, 2, 200)
    assert store.names == set(ENTRIES)
