"""Groups as tracks by level, over HTTP: listed on request, drawn over the slices they contain."""

from __future__ import annotations

import pytest

from tests.server.test_timeline import Ask, Event, decoded, serve, write

ARGS = {"correlation": 1, "device": 0, "stream": 7}
EVENTS: list[Event] = [
    {"cat": "user_annotation", "name": "mine", "ts": 100, "dur": 50},
    {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 110, "dur": 5, "args": ARGS},
    {"cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 200, "dur": 90, "args": ARGS},
]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    path = write(tmp_path_factory.mktemp("logs") / "w.pt.trace.json", EVENTS)
    return serve(path.parent, ["w"])


def test_tracks_and_a_screen_of_them(ask: Ask) -> None:
    plain = ask("timeline/tracks").get_json()
    result = ask("timeline/tracks?levels=ranges:1").get_json()
    assert result["tracks"][: len(plain["tracks"])] == plain["tracks"]
    added = result["tracks"][len(plain["tracks"]) :]
    assert [(track["title"], track["kind"], track["lanes"]) for track in added] == [
        ("Ranges (user)", "levels", 1),
        ("Ranges (user)", "levels", 1),
    ]
    key = added[1]["key"]
    screen = f"timeline?start_ns=0&end_ns=190000&width_px=190&levels=ranges:1&tracks={key}"
    head, arrays = decoded(ask(screen).data)
    assert head["names"] == ["mine"]
    # From the start of the kernel to its end, not as the range ran on the host.
    assert arrays["slice_start_ns"].tolist() == [100_000]
    assert arrays["slice_dur_ns"].tolist() == [90_000]
    category = result["categories"][arrays["slice_category"][0]]
    assert category["key"] == "group"


def test_invalid_levels(ask: Ask) -> None:
    answer = ask("timeline/tracks?levels=frames:2")
    assert answer.status_code == 400
    assert "modules, ranges" in answer.get_json()["error"]["message"]
