"""Cases: names of settings of real exports, what they mean and what they do not; columns whose
table says what they hold; patterns that compile."""

from __future__ import annotations

import re

import pytest

from torch_tb_profiler.knowledge import private_columns
from torch_tb_profiler.knowledge.scrubbing import field_rule, scrubbing_file


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("PROCESS_0:WORKING_DIR", "path"),
        ("PROCESS_1:ENVIRONMENT_VARIABLE_3", "environment"),
        ("PROCESS_1:COMMAND_LINE", "command"),
        ("PROCESS_0:ARGUMENT_2", "command"),
        ("DEVICE_DISPLAY_NAME", "host"),
        ("Hostname", "host"),
        ("DeviceEnvironment", "environment"),
        ("SystemUID", "device-id"),
        ("PROFILING_SESSION_UUID", "secret"),
        ("EXPORT_USER", "user"),
        ("EXPORT_SCHEMA_VERSION", ""),
        ("EXPORT_PRODUCT_VERSION", ""),
        ("CUDA_GRAPH_TRACE_OPTIONS:MODE", ""),
        ("PROCESS_0:PID", ""),
        ("IsPersistentDevice", ""),
        ("USE_FRAME_POINTERS", ""),
        ("GpuInfo", ""),
    ],
)
def test_settings(name: str, kind: str) -> None:
    rule = field_rule(private_columns.pair_key(name))
    assert (rule.kind if rule is not None else "") == kind


def test_columns_have_the_key_of_their_table() -> None:
    assert private_columns.column_key("processes", "name") == "process_name"
    assert private_columns.column_key("rocpd_info_thread_0000019b", "name") == "thread_name"
    assert private_columns.column_key("rocpd_info_agent_0000019b", "user_name") == "device_name"
    assert private_columns.column_key("ENUM_CUDA_MEM_KIND", "name") == "name"
    assert private_columns.name_and_value("META_DATA_CAPTURE", ("name", "value")) == (0, 1)
    assert private_columns.name_and_value("StringIds", ("id", "value")) is None
    assert private_columns.has_plain_texts("ENUM_CUDA_MEM_KIND")
    assert not private_columns.has_plain_texts("StringIds")


def test_keys_are_keys_of_rules() -> None:
    tables = scrubbing_file().tables
    patterns = [rule.tables for rule in tables.columns]
    patterns += [rule.tables for rule in tables.values]
    assert all(re.compile(pattern) for pattern in (*patterns, *tables.names.values(), tables.plain))
    assert [key for key in tables.names if field_rule(key) is None] == []


def test_members() -> None:
    members = scrubbing_file().members
    assert all(map(private_columns.is_read_member, members.examples))
    assert not any(map(private_columns.is_read_member, members.counter_examples))
