"""Cases: one call for any number of threads, the same object for all; an error is not cached; such
functions may call each other and keep their name and documentation; a type for msgspec is set up,
and every function of the package that passes one sees to that."""

from __future__ import annotations

import ast
import builtins
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from torch_tb_profiler.once import once, set_up

PACKAGE = Path(__file__).resolve().parents[1] / "torch_tb_profiler"
WITHOUT_STRUCT = {*dir(builtins), "Any", "GenericAlias", "msgspec"}
"""Names in types that need no set-up: ``msgspec`` is for ``msgspec.Raw``."""
SET_UP = ("set_up(", "msgspec.defstruct(")
"""What makes a type that one thread sets up; a new one is known to that thread alone."""


def test_one_thread_makes_it_and_all_get_it() -> None:
    calls: list[object] = []

    @once
    def thing() -> object:
        calls.append(object())
        time.sleep(0.01)  # lets the others come
        return calls[-1]

    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(thing())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(calls) == 1
    assert answers == calls * 16


def test_an_error_is_passed_on_and_the_next_call_tries_again() -> None:
    answers: Iterator[int | ValueError] = iter([ValueError("not yet"), 7])

    @once
    def thing() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="not yet"):
        thing()
    assert [thing(), thing()] == [7, 7]


def test_one_may_need_another_and_keeps_its_name() -> None:
    @once
    def inner() -> list[int]:
        """What is inside."""
        return [1]

    @once
    def outer() -> list[int]:
        return inner() * 2

    assert outer() == [1, 1]
    assert (inner.__name__, inner.__doc__) == ("inner", "What is inside.")


def test_a_type_is_returned_and_decodes() -> None:
    class Point(msgspec.Struct):
        x: int

    assert set_up(Point) is Point
    assert msgspec.json.decode(b'{"x": 1}', type=set_up(Point)) == Point(1)


def _types_passed(function: ast.AST) -> Iterator[ast.expr]:
    """The types that calls of msgspec in a function get."""
    for call in ast.walk(function):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if not ast.unparse(call.func).startswith("msgspec."):
            continue
        yield from (keyword.value for keyword in call.keywords if keyword.arg == "type")
        if call.func.attr in ("convert", "Decoder"):
            yield from call.args[1 if call.func.attr == "convert" else 0 :][:1]


def _is_safe(expression: ast.expr, local: set[str]) -> bool:
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return ast.unparse(expression).startswith(SET_UP) or names <= WITHOUT_STRUCT | local


def test_functions_pass_types_that_are_set_up() -> None:
    count, unsafe = 0, []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        if "msgspec" not in text or path.name == "once.py":
            continue
        for function in ast.walk(ast.parse(text)):
            if not isinstance(function, ast.FunctionDef):
                continue
            local = {
                ast.unparse(node.targets[0])
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(SET_UP)
            }
            for passed in _types_passed(function):
                count += 1
                if not _is_safe(passed, local):
                    where = f"{path.relative_to(PACKAGE)}:{passed.lineno}"
                    unsafe.append(f"{where}: write set_up({ast.unparse(passed)})")
    assert unsafe == []
    assert count > 10
