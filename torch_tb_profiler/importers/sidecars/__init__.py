"""Files that stand beside a trace and are joined to it: annotations of graph nodes, traces of the
capture of graphs, provenance of generated kernels.

Definitions: ``docs/views-compiled.md#files-beside-a-trace``.
"""
