"""``views``: the list of views for people and programs."""

from __future__ import annotations

from collections.abc import Callable

from tests.cli.conftest import Done
from torch_tb_profiler.views.registry import all_views

Run = Callable[..., Done]


def test_every_view_is_listed_with_its_tables_and_groupings(run: Run) -> None:
    text = run("views").out
    for spec in all_views().values():
        assert f"{spec.name}: {spec.help}" in text
        assert all(table.name in text for table in spec.tables)
    assert "name+operator+launch" in text


def test_json_lists_the_keys(run: Run) -> None:
    answer = run("views", "--format", "json").json
    views = {view["name"]: view for view in answer["views"]}
    assert views["overview"]["tables"]["average_step"] == ["category", "duration_us", "pct"]
    assert views["operators"]["group_bys"][0] == "name"
