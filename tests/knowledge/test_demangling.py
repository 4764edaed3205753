"""Mangled names: against ``c++filt`` on symbols of public libraries, and text that nobody meant.

``tests/data/demangled_names.json`` holds symbols of PyTorch's, cuBLAS's and cuDNN's libraries and
what ``c++filt`` (GNU binutils) makes of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.knowledge import demangling
from torch_tb_profiler.knowledge.demangling import demangled, identifiers

PAIRS: dict[str, str] = json.loads(
    (Path(__file__).parents[1] / "data" / "demangled_names.json").read_text()
)


@pytest.mark.parametrize("name", PAIRS, ids=lambda name: name[:60])
def test_real_symbols_read_as_binutils_reads_them(name: str) -> None:
    assert demangled(name) == PAIRS[name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_Z1fv", "f()"),
        ("_Z1fIiEvT_", "void f<int>(int)"),
        ("_Z1fPFviE", "f(void (*)(int))"),
        ("_Z1fRA4_Kf", "f(float const (&) [4])"),
        ("_Z1fIJifEEvDpRKT_", "void f<int, float>(int const&, float const&)"),
        ("_Z1fIJEEvDpRKT_", "void f<>()"),
        ("_Z1fILin3ELb1EEvv", "void f<-3, true>()"),
        ("_ZN1a1bIfE1cEv.kd", "a::b<float>::c() [clone .kd]"),
        ("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"),
        ("_ZZ1fvENKUliE_clEi", "f()::{lambda(int)#1}::operator()(int) const"),
        ("_Z1fN1aIiE1bE", "f(a<int>::b)"),
        ("_Z1fM1aKFivE", "f(int (a::*)() const)"),
        ("_Z1fDF16bDF16_", "f(std::bfloat16_t, _Float16)"),
        (
            "_ZN5aiter37fmha_fwd_hd128_bf16_causal_rtne_groupE",
            "aiter::fmha_fwd_hd128_bf16_causal_rtne_group",
        ),
    ],
)
def test_worked_names(name: str, text: str) -> None:
    assert demangled(name) == text


@pytest.mark.parametrize(
    "name",
    [
        "",
        "_Z",
        "_Z1",
        "_Z9short",
        "_Z1fv junk",
        "_Z1fT_",
        "_Z1fS_",
        "_Z1fIi",
        "_ZN1a",
        "__Z1fv",
        "volta_sgemm_128x32_nn",
        "void at::native::kernel<4>(int)",
        "_Z999999999999999f",
        "_Z1f" + "P" * 100_000 + "i",
    ],
)
def test_what_is_no_whole_name_stays_as_recorded(name: str) -> None:
    assert demangled(name) == name


def test_what_stands_for_endless_text_stays_as_recorded() -> None:
    """Every substitution doubles the one before."""
    doubling = "".join(f"1cIS{letter}_S{letter}_E" for letter in "02468ACEGIKMOQSUWY")
    doubling += "".join(f"1cIS1{letter}_S1{letter}_E" for letter in "02468ACEGIKMOQSUWY")

    for name in ("_Z1fN1aIiiE" + doubling + "E", "_Z1f" + "1aI" * 5_000, "_Z1f" + "DpDp" * 5_000):
        assert demangled(name) == name


def test_depth_is_bounded_wherever_it_is_called() -> None:
    """Close to the end of the interpreter's stack too."""
    deep = "_Z1f" + "1aI" * 40 + "i" + "E" * 40

    def call(frames: int) -> str:
        return call(frames - 1) if frames else demangled.__wrapped__(deep)

    assert demangled(deep).startswith("f(a<a<a<")
    assert call(sys.getrecursionlimit() - 200) in (deep, demangled(deep))


TYPES = st.recursive(
    st.sampled_from([("i", "int"), ("f", "float"), ("Pv", "void*"), ("b", "bool")]),
    lambda inner: st.tuples(st.integers(0, 999), st.lists(inner, min_size=1, max_size=3)).map(
        lambda parts: _template(*parts)
    ),
    max_leaves=12,
)


def _template(number: int, arguments: list[tuple[str, str]]) -> tuple[str, str]:
    """A class of its own name each time, so that no substitution is due."""
    name = f"t{number}"
    inside = ", ".join(text for _, text in arguments)
    space = " " if inside.endswith(">") else ""
    return (
        f"{len(name)}{name}I{''.join(code for code, _ in arguments)}E",
        f"{name}<{inside}{space}>",
    )


@given(st.lists(TYPES, min_size=1, max_size=4), st.lists(st.sampled_from("abcd"), max_size=3))
def test_names_put_together_come_apart(types: list[tuple[str, str]], namespaces: list[str]) -> None:
    inside = ", ".join(text for _, text in types)
    space = " " if inside.endswith(">") else ""
    path = "".join(f"1{space}" for space in namespaces)
    name = f"_ZN{path}1fI{''.join(code for code, _ in types)}EEvv"

    expected = f"void {'::'.join([*namespaces, 'f'])}<{inside}{space}>()"
    assert demangled(name) == expected


@given(st.text(alphabet="_ZNSTIEJLPRKDpUlvifabX0123456789.t", max_size=80))
def test_no_text_raises_and_what_is_read_is_text(tail: str) -> None:
    assert demangled(f"_Z{tail}")


@given(st.sampled_from(sorted(PAIRS)), st.data())
def test_damaged_symbols_never_raise(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(2, len(name)))
    cut = data.draw(st.integers(0, 8))

    assert demangled(name[:at] + name[at + cut :])


def test_the_bounds_hold_for_the_longest_names() -> None:
    assert demangled("_Z" + "1a" * demangling.MAX_CHARS).startswith("_Z")


def test_a_truncated_name_still_has_its_identifiers() -> None:
    name = "_ZN7ck_tile6kentryILi128ENS0_13FmhaFwdKernelINS_32Block"

    assert demangled(name) == name
    assert identifiers(name) == "ck_tile::kentry::FmhaFwdKernel::Block"
    assert identifiers("_Z") == ""
