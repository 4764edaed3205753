"""Sidecar files: files next to a trace whose content is joined to it.

Annotations of CUDA graph nodes, traces of graph capture, provenance of generated kernels. Each
kind is recognized by its name and read into a side table; they are untrusted input, read within
limits and without executing anything. Finding them in folders is up to the caller.

Definitions: ``docs/views-compiled.md#files-beside-a-trace``.
"""
