"""Cases: ten recordings of seven formats with fifty secrets in header, metadata, names, keys,
values, nested arguments, stacks and names of files: none is in the bytes of the copy, and figures
are equal."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import flight_dumps, recorder, snapshots
from tests.scrubbing import planted
from torch_tb_profiler import scrub
from torch_tb_profiler.loading.opening.open_file import open_trace_file
from torch_tb_profiler.scrubbing.result import ScrubResult
from torch_tb_profiler.scrubbing.same_numbers import first_difference
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

DATA = Path(__file__).parents[1] / "data"
HOST, RUN = "gpu-node-17", "acme-pretrain-v7"


def _opened(path: Path) -> Trace:
    return open_trace_file(open_location(str(path)), None, cache=None).trace


@pytest.fixture(scope="module", name="originals")
def planted_recordings(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("annlee") / RUN
    for rank, source in enumerate(sorted((samples / "cpu_ddp4_gloo").iterdir())[:2]):
        stamp = source.name.split(".")[1]
        target = folder / f"{HOST}_471{rank}.{stamp}.pt.trace.json.gz"
        planted.plant_in_trace(source, target)
    planted.plant_in_trace(
        samples / "torch_compile_triton" / "rank0.pt.trace.json.gz",
        folder / "annlee" / "trace.json",
    )
    planted.plant_in_trace(
        DATA / "paddle" / "nested.paddle_trace.json.gz",
        folder / "paddle" / f"{RUN}.paddle_trace.json.gz",
    )
    planted.plant_in_trace(
        DATA / "mindspore_r1" / "profiler" / "ascend_timeline_display_0.json",
        folder / "list" / "msprof_0_2_1.json",
    )
    planted.plant_in_names(folder / "names" / "names.json")
    _write_values(folder)
    return folder


def _write_values(folder: Path) -> None:
    """A snapshot, dumps as JSON and pickle, a journal."""
    dump = flight_dumps.dump(
        [flight_dumps.entry(number) for number in range(4)], {"0": ("default_pg", [0, 1])}
    )
    (folder / "dump.pickle").write_bytes(pickle.dumps(dump))
    planted.plant_in_pickle(folder / "dump.pickle", folder / "pickled" / "fr_trace_rank_0.pickle")
    (folder / "dump.pickle").write_text(json.dumps(dump))
    planted.plant_in_json(folder / "dump.pickle", folder / "dumps" / "fr_trace_rank_0.json")
    (folder / "dump.pickle").write_bytes(pickle.dumps(snapshots.simulated(1)[0]))
    planted.plant_in_pickle(folder / "dump.pickle", folder / "memory" / f"{HOST}.pickle")
    (folder / "dump.pickle").unlink()
    blocks = recorder.blocks_of(recorder.Run())
    lines = [json.dumps(planted.plant_in_values(block)) for block in blocks]
    journal = folder / "journal" / f"{HOST}_99.record.jsonl"
    journal.parent.mkdir()
    journal.write_text("\n".join(lines))


@pytest.fixture(scope="module", name="result")
def scrubbed(originals: Path, tmp_path_factory: pytest.TempPathFactory) -> ScrubResult:
    return scrub(originals, tmp_path_factory.mktemp("copies") / "copy")


def test_all_secrets_are_in_the_originals(originals: Path) -> None:
    assert planted.leaks(originals.parent) == planted.private_texts()
    assert len(planted.SECRETS) + len(planted.FIELD_SECRETS) >= 50


def test_no_secret_is_in_the_copy(result: ScrubResult) -> None:
    assert len(result.files) == 10
    assert result.omitted == ()
    assert planted.leaks(Path(result.target)) == set()


def test_the_list_holds_no_secret(result: ScrubResult) -> None:
    shown = repr((result.removed, result.remaining)).lower()
    assert [text for text in planted.private_texts() if text.lower() in shown] == []
    kinds = {each.kind for each in result.removed}
    assert kinds >= {"host", "user", "path", "command", "process", "environment", "address", "url"}
    assert kinds >= {"email", "device-id", "secret", "run"}


def test_figures_of_every_view_are_equal(originals: Path, result: ScrubResult) -> None:
    for file in result.files:
        original, copy = originals / file.source, Path(result.target, file.target)
        assert first_difference([_opened(original)], [_opened(copy)]) is None, file.source


def test_workers_of_one_host_have_one_name(result: ScrubResult) -> None:
    targets = {file.source: file.target for file in result.files}
    ranks = [target for source, target in targets.items() if source.startswith(HOST)]
    assert len(ranks) == 2
    hosts = [json.loads(planted.unpacked(Path(result.target, rank)))["host_name"] for rank in ranks]
    assert hosts[0] == hosts[1]
    assert hosts[0].startswith("host-")


def test_another_reader_has_the_same_events(originals: Path, result: ScrubResult) -> None:
    for file in result.files:
        if ".trace.json" in file.target or file.target.endswith("trace.json"):
            sides = [originals / file.source, Path(result.target, file.target)]
            one, other = (_plain_figures(json.loads(planted.unpacked(path))) for path in sides)
            assert one == other


def _plain_figures(document: Any) -> Counter[tuple[Any, ...]]:
    """The events by what is no text, from the standard library's reader."""
    events = document if isinstance(document, list) else document["traceEvents"]
    keys = ("ph", "cat", "ts", "dur", "id")
    return Counter(tuple(str(event.get(key)) for key in keys) for event in events if event)


def test_python_reads_the_pickles(result: ScrubResult) -> None:
    paths = [Path(result.target, file.target) for file in result.files]
    values = [pickle.loads(path.read_bytes()) for path in paths if path.suffix == ".pickle"]
    assert [sorted(value.keys() & {"segments", "entries"}) for value in values] == [
        ["segments"],
        ["entries"],
    ] or len(values) == 2


@pytest.mark.parametrize("plant", [planted.plant_in_names])
def test_hashed_names_are_no_names(plant: Callable[[Path], None], tmp_path: Path) -> None:
    plant(tmp_path / "names.json")
    text = (tmp_path / "names.json").read_text().replace("load ", "frobnicate ")
    (tmp_path / "names.json").write_text(text)
    scrub(tmp_path / "names.json", tmp_path / "copy.json", hash_names=True)
    assert "frobnicate" not in (tmp_path / "copy.json").read_text()
    assert "frobnicate" in text
