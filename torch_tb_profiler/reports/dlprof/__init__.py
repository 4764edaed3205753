"""The eight reports of DLProf, under its names and with its column titles; times in ns.

Made of the views, so every number is the one that pages and ``report --view`` show
(``docs/dlprof.md``). ``NEEDS`` says which tables a report is made of, ``REPORTS`` makes it.
"""
