"""Some damages of made up recordings, as ``bench/fuzz_importers.py`` makes many of."""

from __future__ import annotations

from pathlib import Path

from bench.fuzz import alarm, mutated
from bench.importer_damages import Options, Recording, fuzz_importer
from tests.helpers import nsys, rocprof_files

INPUTS = 30


def test_damaged_exports_are_read_and_shown_or_refused(tmp_path: Path) -> None:
    pool = []
    for make in (nsys.training, nsys.graph_nodes, nsys.whole_graphs, nsys.gpu_metrics):
        path = nsys.write_export(tmp_path / f"{make.__name__}.sqlite", make())
        pool.append(Recording("nsys", path.name, {path.name: path.read_bytes()}))

    tally = fuzz_importer(pool, Options(INPUTS, 600, 3, 20, 30, tmp_path), mutated, alarm)

    assert not tally.failures
    assert tally.inputs == INPUTS
    assert len(tally.outcomes) > 10
    assert 0 < tally.refused < INPUTS // 2


def test_damaged_recordings_of_amd_are_read_and_shown_or_refused(tmp_path: Path) -> None:
    paths = rocprof_files.write_all(tmp_path)
    pool = [Recording("rocprof", path.name, {path.name: path.read_bytes()}) for path in paths]
    options = Options(INPUTS, 600, 3, 20, 30, tmp_path)
    tally = fuzz_importer(pool, options, mutated, alarm)

    assert not tally.failures
    assert tally.inputs == INPUTS
    assert 0 < tally.refused < INPUTS // 2
