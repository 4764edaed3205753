"""Cases: equal texts become equal ones; names that differ in numbers only still do; hosts of two
domains; two files of one name in two folders stay two; examples and hashes hold no text."""

from __future__ import annotations

import re

from torch_tb_profiler.scrubbing.replacements import Replacements


def test_equal_texts_become_equal_ones() -> None:
    replacements = Replacements()
    texts = ["gpu17", "gpu18", "gpu17", "login", "other3"]
    tokens = [replacements.replacement("host", text, "f") for text in texts]
    assert tokens == ["host-1", "host-2", "host-1", "host-b", "host-c1"]


def test_what_differs_in_numbers_only_still_does() -> None:
    replacements = Replacements()
    texts = [f"{word}{number}" for word in ("/data/acme/s", "/data/b") for number in range(40)]
    tokens = [replacements.replacement("path", text, "f") for text in texts]
    families = [re.sub(r"\d+", "*", token) for token in tokens]
    assert len(set(tokens)) == 80
    assert len(set(families[:40])) == len(set(families[40:])) == 1
    assert families[0] != families[40]


def test_many_families_sort_as_they_came() -> None:
    replacements = Replacements()
    words = [f"{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
    tokens = [replacements.replacement("run", word, "f") for word in words]
    assert len(set(tokens)) == len(words)
    assert tokens == sorted(tokens)


def test_hosts_and_domains() -> None:
    replacements = Replacements()
    texts = ["gpu1.a.org", "gpu1", "gpu2.a.org", "gpu1.b.org"]
    tokens = [replacements.replacement("host", text, "f") for text in texts]
    assert tokens == ["host-1.domain-a", "host-1", "host-2.domain-a", "host-1.domain-b"]


def test_files_of_one_name() -> None:
    replacements = Replacements()
    paths = ["/home/ann/a/x.py", "/home/ann/b/x.py", "/home/ann/a/x.py", "C:\\ann\\x.py", "/a/y.py"]
    tokens = [replacements.replacement("path", path, "f") for path in paths]
    assert tokens == ["x.py", "folder-a/x.py", "x.py", "folder-b/x.py", "y.py"]


def test_examples_and_hashes_hold_no_text() -> None:
    replacements = Replacements("salt")
    replacements.replacement("secret", "hunter22", "args")
    hashed = [replacements.hashed(word) for word in ("acme", "acme", "bcme")]
    assert hashed[0] == hashed[1] != hashed[2]
    assert hashed[0] == Replacements("salt").hashed("acme") != Replacements().hashed("acme")
    assert hashed[0].isalpha()
    (name, secret) = replacements.removed()
    assert (name.kind, name.count, secret.kind, secret.count) == ("name", 2, "secret", 1)
    assert re.fullmatch(r"args: 8 characters, #[a-p]{8}", secret.example)
