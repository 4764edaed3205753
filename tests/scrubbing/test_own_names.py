"""Names of the program and of libraries: the rules of ``[library]``, and what is left of a name."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.scrubbing import scrubbing_file
from torch_tb_profiler.scrubbing.own_names import hash_own_words, is_library_name, is_own_name

LIBRARY = scrubbing_file().library


def test_the_examples() -> None:
    assert [name for name in LIBRARY.examples if not is_library_name(name)] == []
    assert [name for name in LIBRARY.counter_examples if is_library_name(name)] == []


@pytest.mark.parametrize(
    ("name", "hashed"),
    [
        ("acme_kernel_7", "#_kernel_7"),
        ("<< forward: AcmeBlock/3 >>", "<< forward: #Block/3 >>"),
        ("aten::mm", "aten::mm"),
        ("zorg.py(3): frob;torch/nn/functional.py(9): linear", "#.py(3): #;"
         "torch/nn/functional.py(9): linear"),
    ],
)  # fmt: skip
def test_words_of_the_program_are_hashed(name: str, hashed: str) -> None:
    assert hash_own_words(name, lambda _word: "#") == hashed


def test_own_names_are_counted() -> None:
    assert is_own_name("acme_block")
    assert not is_own_name("forward 3")
