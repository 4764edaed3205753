"""Bytes and names: everything that knows where files are and how their bytes arrive.

Filesystems (local, S3, Google, Azure, HTTP), trace discovery, decompression, and the cache folder,
local or in a bucket. Nothing here knows a trace format: importers pass in name patterns
(:class:`.names.TraceNames`) and a content detector.

Code that parses or interprets the content of a trace does not belong here. May import only the
standard library, the fsspec clients and isal.
"""
