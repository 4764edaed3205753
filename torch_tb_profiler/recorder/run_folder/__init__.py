"""The files of a recorded run: the journal of each process, and what finishes them at the end.

``journal`` writes blocks while the program runs, ``journal_reader`` reads them back, ``finish``
completes and compresses journals and traces of a program that has ended (or was killed).
Format: ``docs/format-record.md``. Standard library only.
"""
