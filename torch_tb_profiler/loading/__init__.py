"""Opening traces: discovery, import, building and cache joined, with background work and its
progress.

``catalog`` and ``roots`` list the traces of the given roots, ``opening`` turns one file into one
trace, ``ingest`` fills the cache for many, ``store`` decides which traces stay open, ``processes``
runs the worker processes, and ``queries`` answers the requests of the server, the CLI and the API.

Code that knows a format, a metric or HTTP does not belong here.
"""
