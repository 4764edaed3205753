"""Databases with secrets in every place where a text may be, also in pages that no table uses."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.scrubbing.planted import FIELD_SECRETS, SECRETS

KEYED = {
    "PROCESS_0:ENVIRONMENT_VARIABLE_3": "SOME_VARIABLE=variable-of-bigbank",
    "DeviceEnvironment": "OMP_NUM_THREADS=8\nSOME_VARIABLE=line-of-bigbank\n",
    "DEVICE_DISPLAY_NAME": "displaybox42",
    "PROCESS_0:COMMAND_LINE": "./start --for megacorp",
    "EXPORT_HOST": SECRETS["host"],
    "EXPORT_USER": "carolwhite",
    "EXPORT_OUTPUT": "nightly-of-megacorp",
}
"""Name → value of a table of settings; only the name gives it away."""

REFERRED = "stdout of megacorp"
"""A text that is private because of the table that refers to it."""

PROCESS_NAME = "megacorp-trainer-main"
"""The name of a process; its first thread has the beginning of it."""

HIDDEN = ("variable-of-bigbank", "line-of-bigbank", "displaybox42", "megacorp", "carolwhite")
"""Parts of these that must not remain."""


def plant_in_database(source: Path, target: Path) -> None:
    """A copy of a database with new tables, rows, columns, deleted rows, and objects of SQL."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o600)
    with closing(sqlite3.connect(target)) as base, base:
        base.execute('CREATE TABLE notes (id INTEGER PRIMARY KEY, "free text" TEXT, data BLOB)')
        for secret in SECRETS.values():
            for text in (f"see {secret} there", json.dumps({"deep": [{"deeper": secret}]})):
                base.execute('INSERT INTO notes ("free text", data) VALUES (?, ?)', (text, secret))
            base.execute("INSERT INTO notes (data) VALUES (?)", (secret.encode(),))
            base.execute("INSERT INTO notes (data) VALUES (?)", (b"\xff\0" + secret.encode(),))
        columns = ", ".join(f'"{key}" TEXT' for key in FIELD_SECRETS)
        base.execute(f"CREATE TABLE keyed ({columns})")
        marks = ", ".join("?" * len(FIELD_SECRETS))
        base.execute(f"INSERT INTO keyed VALUES ({marks})", tuple(FIELD_SECRETS.values()))
        base.execute("CREATE TABLE META_DATA_HERE (name TEXT, value TEXT)")
        base.executemany("INSERT INTO META_DATA_HERE VALUES (?, ?)", KEYED.items())
        base.execute(f'CREATE TABLE "{SECRETS["mount"]}" ("{SECRETS["email"]}" "{SECRETS["url"]}")')
        base.execute("CREATE VIEW secret_view AS SELECT '/home/annlee/view' AS x")
        base.execute("CREATE INDEX secret_index ON notes (id) WHERE data != '/home/annlee/i'")
        base.execute("CREATE TABLE deleted (text TEXT)")
        base.executemany("INSERT INTO deleted VALUES (?)", [(s,) for s in SECRETS.values()])
        base.execute("DROP TABLE deleted")


def plant_in_export(target: Path) -> None:
    """More rows of an export of Nsight Systems, in its own tables."""
    with closing(sqlite3.connect(target)) as base, base:
        first = base.execute("SELECT max(id) + 1 FROM StringIds").fetchone()[0]
        texts = [REFERRED, PROCESS_NAME[:15], *SECRETS.values()]
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(texts, first))
        base.execute("CREATE TABLE IF NOT EXISTS ProcessStreams (globalPid, filenameId, contentId)")
        base.execute("INSERT INTO ProcessStreams VALUES (1, NULL, ?)", (first,))
        base.execute("CREATE TABLE IF NOT EXISTS PROCESSES (globalPid, pid, name)")
        base.execute(
            "INSERT INTO PROCESSES (globalPid, pid, name) VALUES (1, 2, ?)",
            (f"/opt/{PROCESS_NAME}",),
        )
        base.execute("CREATE TABLE IF NOT EXISTS ThreadNames (nameId, priority, globalTid)")
        base.execute(
            "INSERT INTO ThreadNames (nameId, priority, globalTid) VALUES (?, 1, 3)", (first + 1,)
        )
