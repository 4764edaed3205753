"""``report PATH``: one screen of 100 × 40 for every sample, and when it is not shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.reports.text import display_width

Run = Callable[..., Done]
SAMPLES = sorted(
    path.name
    for path in (Path(__file__).parents[2] / "samples").iterdir()
    if path.is_dir() and path.name not in ("LICENSES", "record")
)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_answered_on_one_screen(run: Run, samples: Path, name: str) -> None:
    done = run("report", samples / name)
    lines = done.out.splitlines()
    assert done.code == 0
    assert 10 < len(lines) < 40
    assert max(map(display_width, lines)) <= 100
    assert not any("–" in line.split() for line in lines)  # no figure is a dash
    assert lines[-1].endswith("--all")


def test_all_prints_every_table_and_so_does_a_view(run: Run, resnet: Path) -> None:
    whole = run("report", resnet, "--all").out
    assert whole == run("report", resnet, "--view", "overview").out
    assert len(whole.splitlines()) > 100
    assert "GPUs (1 row)" in whole


@pytest.mark.parametrize(
    "options", [["--table", "gpus"], ["--limit", "3"], ["--tables", "gpus"], ["--sort", "-pct"]]
)
def test_options_for_tables_ask_for_tables(run: Run, resnet: Path, options: list[str]) -> None:
    done = run("report", resnet, *options)
    assert len(done.out.splitlines()) > 20
    assert "--all" not in done.out


def test_markdown_for_a_pull_request(run: Run, resnet: Path) -> None:
    done = run("report", resnet, "--format", "md")
    lines = done.out.splitlines()
    assert lines[0] == "## kineto\\_resnet50\\_nw0 · worker0 · span 1"
    assert "1. **Data loading: est. gain 58.7 ms per step (33.1 % of it)**." in done.out
    assert sum(line.startswith("| aten::") for line in lines) == 5
    assert len(lines) < 45


def test_several_recordings_get_a_line_each_and_files_a_screen_each(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    done = run("report", samples / "dlrm_8_ranks")
    lines = done.out.splitlines()
    assert lines[0] == "8 recordings"
    assert sum(line.startswith("- worker") for line in lines) >= 4
    assert run("report", samples / "cpu_ddp4_gloo", "--output", tmp_path).code == 0
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == [f"cpu_ddp4_gloo.rank{n}.1.overview.txt" for n in range(4)]
