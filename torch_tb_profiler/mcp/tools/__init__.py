"""The tools, one per file. A tool declares itself as ``TOOL``; :mod:`..registry` lists them."""
