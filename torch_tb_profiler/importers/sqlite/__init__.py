"""Reads SQLite databases as columns, for the formats that are databases; not a format itself.

``database.Database`` is the entry; tables are decoded from their pages (``pages``, ``records``,
``values``), large ones by several processes. Nothing here knows a profiler. Apart from
``importers.protocol`` and ``importers.errors`` only ``trace`` is imported.
"""
