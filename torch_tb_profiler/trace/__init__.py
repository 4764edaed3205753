"""The trace model: event columns as importers deliver them, and the trace that views read.

The builder orders and nests slices, links device work to its launch and owner, and finds the steps.
The tables, their schemas, the cache files and the values computed once per trace (:mod:`.derived`)
are defined here.

Rules that need knowledge of kernels, collectives or models belong to ``analysis``. May import only
numpy, polars, msgspec and ``once``; nothing here reads a trace format, a rule file or HTTP.
"""
