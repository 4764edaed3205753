"""Which arguments are held to be secret: the examples of the file, and what must stay readable."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.arguments import arguments_file, is_secret, is_secret_name

KNOWN = arguments_file()


@pytest.mark.parametrize("name", KNOWN.secret_names)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret(name, '"anything"')


@pytest.mark.parametrize("name", KNOWN.plain_names)
def test_names_of_other_arguments(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("value", KNOWN.secret_values)
def test_values_of_secrets(value: str) -> None:
    assert is_secret("note", value)


@pytest.mark.parametrize("value", KNOWN.plain_values)
def test_other_values(value: str) -> None:
    assert not is_secret("note", value)


def test_a_name_inside_a_value_counts_and_numbers_do_not() -> None:
    assert is_secret("config", '{"deep": [{"password": "x"}]}')
    assert not is_secret("config", '{"deep": [{"width": "x"}]}')
    assert not is_secret("token", "17")
    assert not is_secret("env", "null")
