"""Bytes: filesystems, finding runs, workers and spans, decompression, the cache folder."""
