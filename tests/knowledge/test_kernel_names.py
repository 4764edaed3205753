"""Short names of kernels: those an expert reads, those of thousands together, and hostile ones."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.knowledge.kernel_names import ALL_CHARS, reading, short_names
from torch_tb_profiler.knowledge.kernel_names.plain import READABLE_CHARS

DATA = Path(__file__).parents[1] / "data"
LONGEST = 60
"""No name of a library is longer, however many must be told apart."""


class Expected(msgspec.Struct, rename="kebab"):
    short_names: dict[str, str]


EXPECTED = msgspec.toml.decode((DATA / "short_names.toml").read_bytes(), type=Expected).short_names


@pytest.fixture(scope="module")
def names() -> list[str]:
    return gzip.decompress((DATA / "kernel_names.txt.gz").read_bytes()).decode().split("\n")


@pytest.fixture(scope="module")
def shorts(names: list[str]) -> dict[str, str]:
    return short_names(names)


@pytest.mark.parametrize(("name", "short"), EXPECTED.items())
def test_what_an_expert_reads(name: str, short: str) -> None:
    assert short_names([name]) == {name: short}


def test_thousands_of_kernels_are_distinct_in_their_visible_names(
    names: list[str], shorts: dict[str, str]
) -> None:
    assert len(names) > 5000
    assert len({short[:READABLE_CHARS] for short in shorts.values()}) == len(names)
    assert max(map(len, shorts.values())) <= LONGEST


def test_nearly_all_are_short_and_distinct_in_words(
    names: list[str], shorts: dict[str, str]
) -> None:
    readable = [short for short in shorts.values() if len(short) <= READABLE_CHARS]
    by_hash = [short for short in shorts.values() if " #" in short]
    assert len(readable) > 0.95 * len(names)
    assert len(by_hash) < 0.06 * len(names)
    assert not any(short.startswith(("void ", "at::", "cutlass::")) for short in shorts.values())


def test_names_do_not_depend_on_the_order_nor_on_those_that_differ_anyway(
    names: list[str], shorts: dict[str, str]
) -> None:
    shuffled = random.Random(0).sample(names, len(names))
    assert short_names(shuffled) == shorts
    some = [name for name in names if name.startswith("triton_")]
    alone = {name: short_names([name])[name] for name in some}
    assert short_names(some) == alone


@pytest.mark.parametrize(
    "name", ["triton_poi_fused_add_3", "ampere_sgemm_128x64_nn", "nccl:recv 0<-1", "Memset"]
)
def test_plain_names_stay(name: str) -> None:
    assert short_names([name]) == {name: name}


@pytest.mark.parametrize(
    "name",
    [
        "<img src=x onerror=alert(1)></script>",
        '"><script>alert(1)</script>',
        "=HYPERLINK(1)",
        "graph<0>/op-1",
        "a\u202eb<c>",
    ],
)
def test_of_markup_paths_and_what_acts_unseen_no_word_is_taken_for_a_function(name: str) -> None:
    assert short_names([name]) == {name: name}


def test_of_a_path_the_end_is_shown() -> None:
    paths = [
        f"Default/network-WithLossCell/_backbone-Net/conv{n}-Conv2d/Conv2D-op8" for n in (1, 2)
    ]
    assert list(short_names(paths).values()) == [
        "…/_backbone-Net/conv1-Conv2d/Conv2D-op8",
        "…/_backbone-Net/conv2-Conv2d/Conv2D-op8",
    ]
    assert short_names(["Default/AllReduce-op534_0"]) == {
        "Default/AllReduce-op534_0": "Default/AllReduce-op534_0"
    }


def test_differences_are_shown() -> None:
    lambdas = [
        "void at::native::vectorized_elementwise_kernel<4, at::native::"
        "pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::"
        f"{{lambda(float)#{number}}}, std::array<char*, 2ul> >(int)"
        for number in (1, 2)
    ]
    assert list(short_names(lambdas).values()) == [
        "vectorized<4, pow_tensor_scalar(fl… [#1]",
        "vectorized<4, pow_tensor_scalar(fl… [#2]",
    ]
    tile = "Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1_SN"
    tiles = [f"{tile}_LBSPPA{size}" for size in (512, 1024)]
    assert list(short_names(tiles).values()) == [
        "Cijk…_BBS_BH_MT256x192x64 [LBSPPA512]",
        "Cijk…_BBS_BH_MT256x192x64 [LBSPPA1024]",
    ]
    types = [f"void f<{kind}>(int)" for kind in ("c10::Half", "__half")]
    assert len(set(short_names(types).values())) == 2


PIECES = (
    "f|void |at::native::|<|>|(|)|{lambda(|}|, |4|float|::|operator<|operator>>|_|#1|c10::Half"
    "|const&| |\t|\x1b|\u202e|_Z|ncclDevKernel_|Cijk_|\ud800|é|<unnamed>|[|]|-1|true|*"
)
FRAGMENTS = st.sampled_from(PIECES.split("|"))
TEXTS = st.one_of(st.text(max_size=60), st.lists(FRAGMENTS, max_size=40).map("".join))


@given(st.sets(TEXTS, max_size=12))
def test_different_names_never_have_the_same_short_name(names: set[str]) -> None:
    shorts = short_names(names)
    assert set(shorts) == names
    assert len(set(shorts.values())) == len(names)
    assert all(shorts.values())


@given(st.lists(TEXTS, min_size=2, max_size=8, unique=True))
def test_a_name_that_looks_like_another_short_one_is_no_other(names: list[str]) -> None:
    shorts = list(short_names(names).values())
    together = short_names([*names, *shorts])
    assert len(set(together.values())) == len({*names, *shorts})


@pytest.mark.parametrize(
    "piece", ["a", "<", "f<", "(", "{lambda(", "operator<", "_", "_f16", "::", "ncclKernel_", "\n"]
)
def test_long_names_are_bounded(piece: str) -> None:
    name = piece * (30_000 // len(piece))
    assert len(short_names([name])[name]) <= LONGEST
    others = [name + str(number) for number in range(3)]
    assert len(set(short_names(others).values())) == 3


def test_of_too_many_long_names_less_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    findall = reading.TOKEN.findall

    class Counted:
        def findall(self, text: str) -> list[str]:
            read.append(len(text))
            return findall(text)

    monkeypatch.setattr(reading, "TOKEN", Counted())
    names = [f"void f{number}<{'g<' * 4000}{number}>" for number in range(1500)]
    shorts = short_names(names)
    assert len(set(shorts.values())) == len(names)
    assert max(read) < 8000
    assert sum(read) <= ALL_CHARS, "each is read once: of so many equal forms none is compared"
