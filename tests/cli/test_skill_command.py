"""``skill``: what it says to agents is current. Its commands parse, its names and links exist."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.cli import with_descending_sort
from torch_tb_profiler.cli.arguments import make_parser
from torch_tb_profiler.cli.skill.contents import SKILL, skill_files
from torch_tb_profiler.requests.views import ViewAnswer
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import Note

Run = Callable[..., Done]
ROOT = Path(__file__).resolve().parents[2]
FILES = skill_files(make_parser())
COMMAND = re.compile(r"torch-tb-profiler ([a-z]+ [^`\n]*)")
LINK = re.compile(r"\]\(([^)#]+)\)")
CHAPTER = re.compile(r"^## `(\w+)`.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\* `(\w+)`: (.*)$", re.MULTILINE)


def _commands(text: str) -> Iterator[str]:
    for match in COMMAND.finditer(text):
        words = match[1].strip()
        if "…" not in words and "NAME" not in words:
            yield words


def _parsed(words: str) -> argparse.Namespace:
    try:
        return make_parser().parse_args(with_descending_sort(shlex.split(words, comments=True)))
    except SystemExit:
        pytest.fail(f"torch-tb-profiler {words}: is no command")


def test_every_command_parses() -> None:
    commands = [words for text in FILES.values() for words in _commands(text)]
    assert len(commands) >= 20
    for words in commands:
        views = getattr(_parsed(words), "view", None) or ""
        tables = {table.name for spec in all_views().values() for table in spec.tables}
        assert set(filter(None, views.split(","))) <= {*all_views(), *tables}, words


def test_every_question_has_a_command_for_a_table_that_exists() -> None:
    rows = re.findall(r"^   \| .*\? \| `(.*)` \|$", FILES[SKILL], re.MULTILINE)
    assert len(rows) > 20
    for options in rows:
        arguments = _parsed(f"report PATH {options}")
        spec = all_views()[arguments.view]
        assert arguments.table in {None, *(table.name for table in spec.tables)}
        assert arguments.group_by is None or arguments.group_by in spec.group_bys


@pytest.mark.parametrize("kind", ["views", "columns"])
def test_views_tables_and_columns_are_those_declared(kind: str) -> None:
    text = "".join(each for path, each in FILES.items() if f"/{kind}-" in path)
    listed = {match[1]: dict(ROW.findall(match[0])) for match in CHAPTER.finditer(text)}
    assert list(listed) == list(all_views())
    for name, spec in all_views().items():
        declared = {table.name: [column.key for column in table.columns] for table in spec.tables}
        assert list(listed[name]) == list(declared)
        if kind == "columns":
            assert {table: keys.split(", ") for table, keys in listed[name].items()} == declared


def test_every_option_that_a_text_names_exists() -> None:
    parsers = next(
        each.choices
        for each in make_parser()._actions
        if isinstance(each, argparse._SubParsersAction)
    )
    known = {option for parser in parsers.values() for option in parser._option_string_actions}
    for path in (SKILL, "references/reading.md"):
        named = re.findall(r"(?<![\w-])--[a-z][a-z-]*", FILES[path])
        assert named
        assert set(named) - {"--nproc-per-node"} <= known, path


def test_keys_of_answers_are_those_of_answers() -> None:
    text = FILES["references/reading.md"]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text.split("## Findings")[0], re.MULTILINE)
    keys = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert keys
    assert keys <= set(ViewAnswer.__struct_fields__)
    assert {"kind", "severity", "text", "evidence"} <= set(Note.__struct_fields__)


def test_links_lead_to_files_of_the_skill() -> None:
    for path, text in FILES.items():
        for link in LINK.findall(text):
            assert str((Path(path).parent / link).as_posix()) in FILES, f"{path}: {link}"
    linked = set(LINK.findall(FILES[SKILL]))
    assert linked == set(FILES) - {SKILL}


def test_the_files_are_short_and_the_first_begins_with_what_it_is() -> None:
    assert FILES[SKILL].count("\n") <= 150
    assert all(len(text.encode()) < 20_000 for text in FILES.values())
    front, body = FILES[SKILL].removeprefix("---\n").split("\n---\n", 1)
    values = dict(line.split(": ", 1) for line in front.split("\n"))
    assert set(values) == {"name", "description"}
    assert re.fullmatch(r"[a-z0-9-]{1,64}", values["name"])
    assert len(values["description"]) <= 1024
    assert not re.search(r": | #|^[\[{&*!|>'\"%@`]", values["description"]), "plain YAML"
    assert body.startswith("\n# ")
    assert not any(mark in text for text in FILES.values() for mark in ("{sql}", "{questions}"))


def test_sql_is_named_where_the_command_exists() -> None:
    parser = make_parser()
    subparsers = next(
        each for each in parser._actions if isinstance(each, argparse._SubParsersAction)
    )
    has_sql = "sql" in subparsers.choices
    assert ("torch-tb-profiler sql " in FILES[SKILL]) == has_sql
    if not has_sql:
        subparsers.add_parser("sql", description="Query tables.")
        assert "torch-tb-profiler sql " in skill_files(parser)[SKILL]


def test_without_a_folder_it_prints_the_first_file(run: Run) -> None:
    assert run("skill").out == FILES[SKILL]


def test_it_installs_and_does_not_overwrite_what_was_changed(run: Run, tmp_path: Path) -> None:
    done = run("skill", "--install", tmp_path)
    folder = tmp_path / "torch-tb-profiler"
    assert (done.code, done.out) == (0, "")
    written = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.md")}
    assert {name: path.read_text("utf-8") for name, path in written.items()} == FILES
    assert run("skill", "--install", tmp_path).code == 0
    written["references/reading.md"].write_text("mine")
    refused = run("skill", "--install", tmp_path)
    assert (refused.code, "--force" in refused.err) == (2, True)
    assert written["references/reading.md"].read_text() == "mine"
    assert run("skill", "--install", tmp_path, "--force").code == 0
    assert written["references/reading.md"].read_text("utf-8") == FILES["references/reading.md"]


def test_a_folder_that_cannot_be_written_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "torch-tb-profiler").write_text("a file")
    assert run("skill", "--install", tmp_path, "--force").code == 2


def test_the_templates_are_in_the_packages() -> None:
    project = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())
    assert "cli/skill/*.md" in project["tool"]["setuptools"]["package-data"]["torch_tb_profiler"]
