"""Detects where steps start and end, in programs that do not declare them.

``detector`` is the part of the session: it decides from batches, optimizers and module calls.
``tracker`` holds the current step and reports its end. Callbacks of frameworks, which know their
steps, use ``explicit_steps`` instead. Rules: ``docs/record.md``.
"""
