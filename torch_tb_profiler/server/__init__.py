"""The HTTP server: a WSGI application, and the server of ``torch-tb-profiler serve``.

``routes`` and ``timeline_routes`` turn HTTP requests into requests of ``requests`` and answers into
HTTP; ``app`` dispatches, ``access``, ``gate`` and ``limits`` protect, ``http_server`` listens.
Thin: may import ``loading``, ``reports`` and ``requests``, and computes no figures.
"""
