"""The next call of a tool, written so that an agent can make it as it stands; and addresses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.requests.questions import Subject

MAX_VALUE = 300
"""Characters of an argument in a call: a longer one, as the name of a kernel, is left out."""


def call_text(tool: str, **arguments: str | float | None) -> str:
    """``table(trace="…", view="idle")``; arguments without a value are left out."""
    given = [
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in arguments.items()
        if value not in (None, "") and len(str(value)) <= MAX_VALUE
    ]
    return visible(f"{tool}({', '.join(given)})")


def page_address(subject: Subject, view: str, parameters: Mapping[str, str] | None = None) -> str:
    """The address of a view in the pages, after the address of a server of these recordings."""
    names = {"run": subject.run, "worker": subject.worker, "span": subject.span}
    names["steps"] = subject.selection.steps
    given = {key: value for key, value in names.items() if value}
    given |= {"view": view, **(parameters or {})}
    return "#" + "&".join(f"{key}={quote(value, safe=':,/;')}" for key, value in given.items())


def source_parameters(source: Mapping[str, object]) -> dict[str, str]:
    """The parameters of the page that shows the rows a finding names."""
    texts = {key: value for key, value in source.items() if isinstance(value, str)}
    table = texts.get("table", texts.get("view", ""))
    parameters = {"table": table} if "table" in texts else {}
    if "group_by" in texts:
        parameters["group_by"] = texts["group_by"]
    return parameters | {f"{table}.{key}": texts[key] for key in ("filter", "sort") if key in texts}
