"""Cases: tracks, screens, names, ranges, searches and arrows over HTTP; the binary answer decoded
by its documented layout alone and compared with the events of the file; answers within 300 kB for
the worst screens; hostile names and parameters; peers on other workers; epoch times."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from werkzeug.test import Client, TestResponse

from tests.helpers.opening import open_file
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.server.timeline_routes import PARTS
from torch_tb_profiler.storage.locations import open_location

Event = dict[str, Any]
Ask = Callable[[str], TestResponse]


def serve(folder: Path, names: list[str]) -> Ask:
    """A client of a logdir whose traces are open."""
    catalog = Catalog([TraceRoot(str(folder))], cache=None)
    client = Client(standalone_app(Site(catalog, "standalone")))
    catalog.contents()
    for worker in names:
        file = catalog.file(None, worker, None)
        catalog.store.request(file)
        catalog.store.wait([file], None)
    return lambda path: client.get(f"/api/{path}", headers={"Host": "localhost"})


def write(path: Path, events: list[Event]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    defaults = {"ph": "X", "pid": 1, "tid": 1}
    path.write_text(json.dumps({"traceEvents": [{**defaults, **event} for event in events]}))
    return path


def decoded(body: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays, according to the contract."""
    (size,) = struct.unpack_from("<I", body)
    head = json.loads(body[4 : 4 + size])
    arrays = {}
    for name, entry in head["arrays"].items():
        assert entry["offset"] % 8 == 0
        dtype = np.dtype(entry["dtype"]).newbyteorder("<")
        arrays[name] = np.frombuffer(body, dtype, entry["length"], entry["offset"])
    return head, arrays


HOST: list[Event] = [
    {"cat": "user_annotation", "name": "ProfilerStep#1", "ts": 1000, "dur": 900},
    {"cat": "cpu_op", "name": "aten::linear <img onerror=x>", "ts": 1100, "dur": 500},
    {"cat": "cpu_op", "name": "aten::mm", "ts": 1200, "dur": 300},
    {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1250, "dur": 10}
    | {"args": {"correlation": 7}},
    *(
        {"cat": "cpu_op", "name": "aten::empty", "ts": 1700 + 0.01 * i, "dur": 0.005}
        for i in range(1000)
    ),
]
KERNEL: Event = {
    "cat": "kernel",
    "name": "gemm",
    "pid": 0,
    "tid": 7,
    "ts": 1400,
    "dur": 250,
    "args": {"correlation": 7, "device": 0, "stream": 7},
}


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    write(tmp_path / "w.1.pt.trace.json", [*HOST, KERNEL])
    return serve(tmp_path, [""])


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table in an answer by column."""
    columns = [column["key"] for column in table["columns"]]
    return [dict(zip(columns, row, strict=True)) for row in table["rows"]]


def test_tracks_of_a_trace(ask: Ask) -> None:
    body = ask("timeline/tracks").get_json()
    assert body["end_ns"] == 900_000
    assert body["origin_us"] == 1000
    assert body["slices"] == 1005
    keys = [track["key"] for track in body["tracks"]]
    assert keys[0] == "steps"
    assert {track["group"] for track in body["tracks"]} == {g["key"] for g in body["groups"]}
    operators = next(track for track in body["tracks"] if track["kind"] == "operators")
    assert (operators["lanes"], operators["slices"], operators["overlap_from"]) == (3, 1003, None)
    assert body["categories"][9]["key"] == "kernel"


def test_a_screen_matches_the_file(ask: Ask) -> None:
    tracks = ask("timeline/tracks").get_json()["tracks"]
    response = ask("timeline?start_ns=0&end_ns=900000&width_px=900")
    assert response.content_type == "application/octet-stream"
    head, arrays = decoded(response.data)
    assert (head["start_ns"], head["end_ns"], head["bucket_ns"]) == (0, 900_000, 512)
    whole: dict[tuple[str, int], list[tuple[str, int, int]]] = {}
    for at in range(len(arrays["lane_track"])):
        location = (tracks[arrays["lane_track"][at]]["kind"], int(arrays["lane_row"][at]))
        for row in range(*arrays["lane_slices"][at : at + 2].tolist()):
            name = head["names"][arrays["slice_name"][row]]
            times = (int(arrays["slice_start_ns"][row]), int(arrays["slice_dur_ns"][row]))
            whole.setdefault(location, []).append((name, *times))
        if location == ("operators", 0):
            merged = slice(*arrays["lane_merged"][at : at + 2].tolist())
            assert arrays["lane_bucket_ns"][at] == 512
            assert arrays["merged_count"][merged].sum() == 1000
            busy_ns = arrays["merged_busy"][merged].astype(float) * 512 / 32768
            assert busy_ns.sum() == pytest.approx(5000, abs=1)
            first = int(arrays["merged_bucket"][merged][0]) * 512
            assert 0 <= 700_000 - first < 512
            assert (arrays["merged_category"][merged] == 0).all()
    assert whole["steps", 0] == [("ProfilerStep#1", 0, 900_000)]
    assert whole["operators", 0] == [("aten::linear <img onerror=x>", 100_000, 500_000)]
    assert whole["operators", 1] == [("aten::mm", 200_000, 300_000)]
    assert whole["operators", 2] == [("cudaLaunchKernel", 250_000, 10_000)]
    assert whole["device_stream", 0] == [("gemm", 400_000, 250_000)]
    assert whole["merged", 3] == [("Idle", 0, 400_000), ("Idle", 650_000, 250_000)]
    ids = arrays["slice_id"].tolist()
    assert ids.count(2**32 - 1) == 3
    for slice_id, name in zip(ids, arrays["slice_name"], strict=True):
        if slice_id != 2**32 - 1:
            assert ask(f"slice/{slice_id}").get_json()["slice"]["name"] == head["names"][name]


def test_counters_of_a_screen(ask: Ask) -> None:
    tracks = ask("timeline/tracks").get_json()["tracks"]
    head, arrays = decoded(
        ask("timeline?start_ns=0&end_ns=900000&width_px=900&tracks=d0.utilization").data
    )
    assert not len(arrays["lane_track"])
    assert tracks[arrays["counter_track"][0]]["key"] == "d0.utilization"
    moments = arrays["point_bucket"] * float(head["counter_bucket_ns"])
    assert arrays["point_last"].max() == 100
    full = moments[arrays["point_last"] == 100]
    assert 0 <= full[0] - 400_000 <= 512


def test_names_of_codes(ask: Ask) -> None:
    _, arrays = decoded(ask("timeline?width_px=900&tracks=t0.operators:1").data)
    codes = ",".join(map(str, arrays["slice_name_codes"].tolist()))
    assert ask(f"timeline/names?codes={codes},99999").get_json()["names"] == ["aten::mm", None]
    page = ask("timeline/names?from=0").get_json()
    named = dict(zip(page["codes"], page["names"], strict=True))
    assert [named[code] for code in arrays["slice_name_codes"].tolist()] == ["aten::mm"]
    assert page["next"] is None


def test_range_search_and_flows(ask: Ask) -> None:
    summary = ask("timeline/range?start_ns=0&end_ns=900000").get_json()
    (gpu,) = summary["gpus"]
    assert (gpu["busy_us"], gpu["idle_us"]) == (250, 650)
    [kernel] = [row for row in rows_of(summary["slices"]) if row["kind"] == "Kernel"]
    assert (kernel["name"], kernel["short_name"], kernel["demangled_name"]) == (
        "gemm",
        "gemm",
        None,
    )
    assert (kernel["count"], kernel["self_us"], kernel["total_us"]) == (1, 250, 250)
    result = ask("timeline/search?q=EMPTY").get_json()
    assert (result["count"], len(result["hits"])) == (1000, 1000)
    assert result["names"][0]["name"] == "aten::empty"
    code = result["names"][0]["code"]
    assert result["name_codes"] == [code]
    third = result["hits"][2]
    around = ask(f"timeline/search?name_code={code}&from_slice={third['id']}").get_json()
    assert (around["previous"], around["next"]) == (result["hits"][1], result["hits"][3])
    (launch,) = ask("timeline/search?q=cudaLaunch").get_json()["hits"]
    assert (launch["track"], launch["lane"]) == ("t0.operators", 2)
    flows = ask(f"timeline/flows?slice={launch['id']}").get_json()
    (arrow,) = flows["flows"]
    assert arrow["kind"] == "launch"
    assert arrow["target"]["name"] == "gemm"
    assert arrow["target"]["start_ns"] == 400_000


@pytest.mark.parametrize(
    "query",
    [
        "timeline",
        "timeline?width_px=0",
        "timeline?width_px=4001",
        "timeline?width_px=9&start_ns=5&end_ns=5",
        "timeline?width_px=9&start_ns=nan",
        "timeline?width_px=9&end_ns=1e400",
        "timeline?width_px=9&tracks=nothing",
        "timeline?width_px=9&tracks=" + "a" * 70_000,
        "timeline/names?codes=",
        "timeline/names?codes=1,-1",
        "timeline/names?codes=" + ",".join("1" * 501),
        "timeline/search",
        "timeline/search?q=" + "a" * 5000,
        "timeline/flows",
        "timeline/flows?slice=x",
        "timeline/range?start_ns=9&end_ns=1",
    ],
)
def test_invalid_requests(ask: Ask, query: str) -> None:
    response = ask(query)
    assert response.status_code == 400
    assert response.get_json()["error"]["code"] == "bad_parameter"


@pytest.mark.parametrize("query", ["timeline/", "timeline/x", "timeline/flows?slice=999999"])
def test_unknown_tracks_and_slices(ask: Ask, query: str) -> None:
    assert ask(query).status_code == 404


def test_views_outside_the_trace_are_empty(ask: Ask) -> None:
    for start, end in ((-(10**15), -1), (10**15, 10**18)):
        head, arrays = decoded(ask(f"timeline?width_px=4000&start_ns={start}&end_ns={end}").data)
        assert not len(arrays["slice_id"])
        assert not head["coarse"]


def test_the_worst_screens_stay_within_300_kb(tmp_path: Path) -> None:
    # Long names, all different, just as wide as a pixel, on many crowded lanes and threads.
    events: list[Event] = [
        {
            "cat": "cpu_op",
            "name": f"{'ü<' * 150}{i % 7001}",
            "tid": i % 60,
            "ts": 4 * (i // 60),
            "dur": 3.5,
        }
        for i in range(60_000)
    ]
    events += [{**KERNEL, "ts": 2 * i, "dur": 1, "tid": i % 3, "pid": i % 8} for i in range(9000)]
    write(tmp_path / "w.1.pt.trace.json", events)
    ask = serve(tmp_path, [""])
    for start, end in ((0, 4_000_000), (0, 400_000), (1000, 5000), (-(10**9), 10**12)):
        for width in (1, 1000, 4000):
            response = ask(f"timeline?start_ns={start}&end_ns={end}&width_px={width}")
            assert response.status_code == 200
            assert len(response.data) <= 300_000
            head, arrays = decoded(response.data)
            in_range = sum(
                1000 * e["ts"] < end and 1000 * (e["ts"] + e["dur"]) > start for e in events
            )
            of_lane = np.repeat(arrays["lane_track"], np.diff(arrays["lane_merged"].astype(int)))
            kinds = [track["kind"] for track in ask("timeline/tracks").get_json()["tracks"]]
            real = np.array([kinds[number] != "merged" for number in of_lane], bool)
            sent = (arrays["slice_id"] != 2**32 - 1).sum() + arrays["merged_count"][real].sum()
            assert head["lanes_left_out"] == 0
            assert sent == in_range


def test_times_since_1970_are_exact(tmp_path: Path) -> None:
    base = 1_700_000_000_000_000
    events = [{"cat": "cpu_op", "name": "op", "ts": base + 10 * i, "dur": 3} for i in range(3)]
    write(tmp_path / "w.1.pt.trace.json", events)
    _, arrays = decoded(serve(tmp_path, [""])("timeline?width_px=1000").data)
    assert arrays["slice_start_ns"].tolist() == [0, 10_000, 20_000]
    assert arrays["slice_dur_ns"].tolist() == [3000] * 3


def test_peers_of_a_collective_on_another_worker(samples: Path) -> None:
    folder = samples / "cpu_ddp4_gloo"
    files = sorted(folder.glob("*.json*"))
    assert len(files) == 4
    catalog = Catalog([TraceRoot(str(folder))], cache=None)
    catalog.contents()
    client = Client(standalone_app(Site(catalog, "standalone")))
    workers = list(catalog.workers(None, None))
    for file in catalog.workers(None, None).values():
        catalog.store.request(file)
        catalog.store.wait([file], None)
    headers = {"Host": "localhost"}
    clocks = client.get(f"/api/timeline/clocks?worker={workers[0]}", headers=headers).get_json()
    offsets = {clock["worker"]: clock["offset_ns"] for clock in clocks["workers"]}
    assert list(offsets) == workers
    assert offsets[workers[0]] == 0
    result = client.get(
        f"/api/timeline/search?worker={workers[0]}&q=gloo:all_reduce", headers=headers
    )
    hit = result.get_json()["hits"][0]
    url = f"/api/timeline/flows?worker={workers[0]}&slice={hit['id']}&peers=1"
    flows = client.get(url, headers=headers).get_json()["flows"]
    peers = [flow for flow in flows if flow["kind"] == "collective"]
    assert sorted(flow["worker"] for flow in peers) == workers[1:]
    for flow in peers:
        assert flow["target"]["name"] == "gloo:all_reduce"
        ends = [flow[end]["start_ns"] + flow[end]["dur_ns"] for end in ("source", "target")]
        assert ends[0] == ends[1]
        url = f"/api/slice/{flow['target']['id']}?worker={flow['worker']}"
        own = client.get(url, headers=headers).get_json()["slice"]
        tracks = client.get(f"/api/timeline/tracks?worker={flow['worker']}", headers=headers)
        origin_us = tracks.get_json()["origin_us"]
        moved_us = (flow["target"]["start_ns"] - flow["moved_ns"]) / 1000
        assert moved_us == pytest.approx(own["start_us"] - origin_us, abs=0.01)


def test_other_traces_are_opened_only_for_collectives(samples: Path) -> None:
    catalog = Catalog([TraceRoot(str(samples / "cpu_ddp4_gloo"))], cache=None)
    client = Client(standalone_app(Site(catalog, "standalone")))
    own, *others = catalog.contents().files()
    catalog.store.request(own)
    catalog.store.wait([own], None)
    url = f"/api/timeline/search?worker={own.worker}&q==aten::addmm"
    hit = client.get(url, headers={"Host": "localhost"}).get_json()["hits"][0]
    url = f"/api/timeline/flows?worker={own.worker}&slice={hit['id']}&peers=1"
    answer = client.get(url, headers={"Host": "localhost"})
    assert answer.status_code == 200
    assert [catalog.store.status(file, "summary").state for file in others] == ["queued"] * 3


def test_of_many_peers_the_last_arrivals_are_listed(tmp_path: Path) -> None:
    names = [f"w{number:02}" for number in range(20)]
    for number, worker in enumerate(names):
        begin = 1000 + 3 * number
        call = {"cat": "user_annotation", "name": "gloo:all_reduce", "ts": begin}
        write(tmp_path / f"{worker}.1.pt.trace.json", [{**call, "dur": 2000 - begin}])
    ask = serve(tmp_path, names)
    answer = ask("timeline/flows?worker=w00&slice=0&peers=1").get_json()
    assert answer["flow_count"] == 19
    assert [flow["worker"] for flow in answer["flows"]] == names[-16:]


def test_clocks_are_aligned_on_the_ends_of_collectives(tmp_path: Path) -> None:
    # w1's clock is 5 s ahead, its recording begins 30 µs earlier, and it saw one end 7 µs late.
    for worker, shift, first, late in (("w0", 0, 100, 0), ("w1", 5_000_000, 70, 7)):
        events = [{"cat": "cpu_op", "name": "op", "ts": shift + first, "dur": 5}]
        for i in range(5):
            end = 1000 * (i + 1) + shift + (late if i == 3 else 0)
            begin = end - 40 - 10 * i
            call = {"cat": "user_annotation", "name": "gloo:all_reduce", "ts": begin}
            events.append({**call, "dur": end - begin})
        write(tmp_path / f"{worker}.1.pt.trace.json", events)
    ask = serve(tmp_path, ["w0", "w1"])
    clocks = ask("timeline/clocks?worker=w0").get_json()["workers"]
    # 1000 µs is 900 µs after w0's first event and 930 µs after w1's.
    assert clocks == [
        {
            "worker": worker, "rank": None, "node": None, "origin_us": origin_us,
            "end_ns": end_ns, "offset_ns": offset_ns, "drift_ppm": 0.0, "collectives": 5,
            "hops": hops, "uncertainty_ns": hops,
        }
        for worker, origin_us, end_ns, offset_ns, hops in (
            ("w0", 100, 4_900_000, 0, 0),
            ("w1", 5_000_070, 4_930_000, -30_000, 1),
        )
    ]  # fmt: skip


def test_the_band_of_a_rank_needs_its_summary_alone(tmp_path: Path) -> None:
    kernels = (("gemm", 100, 30), ("ncclDevKernel_AllReduce(x)", 120, 40))
    events = [{"cat": "kernel", "name": name, "ts": ts, "dur": dur} for name, ts, dur in kernels]
    write(tmp_path / "w0.1.pt.trace.json", events)
    ask = serve(tmp_path, ["w0"])
    head, arrays = decoded(ask("timeline?band=1&tracks=band:0-0&width_px=60").data)
    assert arrays["slice_start_ns"].tolist() == [0, 20_000, 30_000]
    assert arrays["slice_dur_ns"].tolist() == [20_000, 10_000, 30_000]
    names = [head["names"][row] for row in arrays["slice_name"].tolist()]
    assert names == ["Computation", "Overlap", "Exposed communication"]
    assert ask("timeline?band=2&width_px=60").status_code == 400


def test_selected_steps_and_exact_names(tmp_path: Path) -> None:
    steps = [(7, 50), (8, 150)]
    marks = [{"cat": "user_annotation", "name": f"ProfilerStep#{n}", "ts": ts} for n, ts in steps]
    names = ("aten::add", "aten::add_", "aten::add")
    calls = [{"cat": "cpu_op", "name": name, "ts": 60 + 20 * i} for i, name in enumerate(names)]
    events = [*({**mark, "dur": 100} for mark in marks), *({**call, "dur": 5} for call in calls)]
    write(tmp_path / "w0.1.pt.trace.json", events)
    ask = serve(tmp_path, ["w0"])
    ranges = ask("timeline/steps?steps=8").get_json()["ranges"]
    assert ranges == [{"start_ns": 100_000, "end_ns": 200_000}]
    assert ask("timeline/steps?steps=9").status_code == 400
    assert ask("timeline/steps?steps=last%201").get_json()["steps"] == "8"
    exact = ask("timeline/search?q==aten::add").get_json()
    assert (exact["query"], exact["count"], exact["name_count"]) == ("=aten::add", 2, 1)
    assert ask("timeline/search?q=aten::add").get_json()["count"] == 3


def test_every_part_is_documented() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "internals.md"
    text = page.read_text(encoding="utf-8")
    for part in PARTS:
        assert f"`/timeline/{part}?" in text


def test_screens_of_real_traces_hold_every_slice(samples: Path) -> None:
    for folder in sorted(samples.iterdir()):
        files = sorted(folder.glob("*.json*"))
        if not files:
            continue
        catalog = Catalog([TraceRoot(str(files[0]))], cache=None)
        catalog.contents()
        client = Client(standalone_app(Site(catalog, "standalone")))
        file = catalog.file(None, None, None)
        catalog.store.request(file)
        catalog.store.wait([file], None)
        headers = {"Host": "localhost"}
        tracks = client.get("/api/timeline/tracks", headers=headers).get_json()["tracks"]
        requested = ",".join(t["key"] for t in tracks if t["kind"] not in ("merged", "counter"))
        body = client.get(f"/api/timeline?width_px=1600&tracks={requested}", headers=headers).data
        _, arrays = decoded(body)
        count = open_file(open_location(str(files[0])), cache=None).slices.height
        assert len(arrays["slice_id"]) + arrays["merged_count"].sum() == count
