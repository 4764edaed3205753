"""Pickles read as data: the opcodes that build lists, dicts, texts and numbers, and no others.

Nothing of a file is ever imported or called (docs/format-snapshot.md#a-pickle-that-is-data).
"""
