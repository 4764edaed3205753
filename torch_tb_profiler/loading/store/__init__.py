"""The open traces of a server: which requests need them, what memory they take, which are closed.

The memory rule is described in ``docs/internals.md`` ("Opening, and what is kept"). Reading a
file belongs to ``opening``.
"""
