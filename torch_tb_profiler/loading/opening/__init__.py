"""From one file to one trace: memory admission, parsing on several cores, caching, sidecar files.

``parsing`` decides where a file is parsed, ``open_file`` reads and caches it, ``pieces`` splits a
large file over workers, ``memory_budget`` limits concurrent reading, ``sidecars`` adds the files
next to a trace, and ``stored_answers`` stores what was answered about it. What concerns several
files at once belongs to ``ingest`` or ``store``.
"""
