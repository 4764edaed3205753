"""One recording in each format of AMD's profilers."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import rocpd, rocprof, rpd


def write_all(folder: Path) -> list[Path]:
    """A file of each format, of one made up recording."""
    process = rocprof.training()
    process.samples = [{"time": 10**6 + number, "counter": 0, "value": 1.0} for number in range(3)]
    database = rpd.write_rpd(folder / "a.rpd", [process])
    return [
        rocprof.write_json(folder / "1_results.json", [process, process]),
        rocpd.write_rocpd(folder / "2_results.db", [process, process]),
        rocpd.write_rocpd(folder / "3_results.db", [process], is_new=True),
        database,
        rpd.write_chrome(folder / "b.json", rpd.to_chrome(database)),
    ]
