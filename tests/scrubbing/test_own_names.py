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


@pytest.mark.parametrize(
    ("name", "hashed"),
    [
        ("zorgSum-op1", "xabSum-op1"),
        ("ZorgSum-op1", "XabSum-op1"),
        ("optimizer_w-ZORG", "optimizer_w-XAB"),
    ],
)
def test_a_hash_is_written_as_its_word_is(name: str, hashed: str) -> None:
    words: list[str] = []

    def collected(word: str) -> str:
        words.append(word)
        return "xab"

    assert hash_own_words(name, collected) == hashed
    assert words == ["zorg"]


@pytest.mark.parametrize(
    "name",
    [
        *("Plane 3", "SDMA", "Reduce_Inline", "Notify_Wait", "EVENT_WAIT", "Write_Value"),
        *("Memcpy", "PROFILING_ENABLE", "PLACE_HOLDER_SQE", "Dequeue@aclnnMm", "AI Core Freq"),
        *("full_kernel_name, FLOPs, FLOPS, FLOPS utilization"),
        *("op_name, stream_id, start_time(ms), duration(ms)", "GPU annotations stream 7"),
    ],
)
def test_names_that_importers_recognize_stay(name: str) -> None:
    assert hash_own_words(name, lambda _word: "#") == name


def test_own_names_are_counted() -> None:
    assert is_own_name("acme_block")
    assert not is_own_name("forward 3")
