"""The code that records more is code: it compiles, and its shell lines parse."""

from __future__ import annotations

import ast
import re
import shlex

import pytest

from torch_tb_profiler.knowledge.recorders import (
    TORCH_PROFILER,
    Recipe,
    Recorder,
    recorder_named,
    recorders,
)
from torch_tb_profiler.knowledge.recording_code import options_for, recording_code
from torch_tb_profiler.trace.info import CAPABILITIES

WITH_RECIPE = [each for each in recorders().values() if each.recipe is not None]
SWITCH = re.compile(r"\b(\w+=True)\b")


def _recipe(recorder: Recorder) -> Recipe:
    assert recorder.recipe is not None
    return recorder.recipe


@pytest.mark.parametrize("recorder", WITH_RECIPE, ids=lambda each: each.name)
def test_code_with_all_options_and_with_none_is_code(recorder: Recorder) -> None:
    recipe = _recipe(recorder)
    for options in (recipe.options, ()):
        code = recording_code(recipe, options)
        assert "{" not in code.replace("{}", "")
        assert not code.startswith("\n")
        assert "\n\n\n" not in code
        if recipe.language == "python":
            ast.parse(code)
        else:
            assert all(shlex.split(line, comments=True) is not None for line in code.split("\n"))
        assert all((each.argument or "") in code for each in options)
    assert recipe.otherwise is None or recorder_named(recipe.otherwise).recipe is not None


@pytest.mark.parametrize("recorder", WITH_RECIPE, ids=lambda each: each.name)
def test_options_are_those_that_reasons_name(recorder: Recorder) -> None:
    """A switch in the phrase of a capability is that of the option for it."""
    for capability, phrase in recorder.records.items():
        for switch in SWITCH.findall(phrase):
            options = options_for(_recipe(recorder), [capability], None)
            if options:
                assert any(switch in f"{each.name} {each.argument}" for each in options), phrase


def test_options_have_names_and_record_something() -> None:
    known = {*CAPABILITIES, "memory_history", "collective_dumps"}
    for recorder in WITH_RECIPE:
        for option in _recipe(recorder).options:
            assert option.name
            assert set(option.records) <= known
            assert option.records


def test_arguments_stand_where_the_recipe_has_them() -> None:
    recipe = _recipe(recorder_named(TORCH_PROFILER))
    code = recording_code(recipe, options_for(recipe, ["memory", "call_stacks"], None))
    call = next(node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.With))
    profile = call.items[0].context_expr
    assert isinstance(profile, ast.Call)
    keywords = {each.arg: ast.unparse(each.value) for each in profile.keywords}
    assert keywords.pop("schedule") == "schedule(wait=1, warmup=2, active=5, repeat=1)"
    assert keywords.pop("on_trace_ready").startswith("tensorboard_trace_handler")
    assert keywords == {"profile_memory": "True", "with_stack": "True"}


@pytest.mark.parametrize(
    ("version", "variable"),
    [
        (None, "TORCH_FR_BUFFER_SIZE"),
        ("2.13.0+cu130", "TORCH_FR_BUFFER_SIZE"),
        ("2.9.1", "TORCH_FR_BUFFER_SIZE"),
        ("2.8.0", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
        ("2.2 to 2.4", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
    ],
)
def test_options_are_those_of_the_version(version: str | None, variable: str) -> None:
    """The variable was renamed in torch 2.9 (docs/format-flight-recorder.md)."""
    for name in (TORCH_PROFILER, "Nsight Systems", "rocprofv3", "torch-tb-profiler record"):
        recipe = _recipe(recorder_named(name))
        code = recording_code(recipe, options_for(recipe, ["collective_dumps"], version))
        assert set(re.findall(r"TORCH_\w+_SIZE", code)) == {variable}
    assert options_for(recipe, ["collective_dumps"], "1.13") == []
