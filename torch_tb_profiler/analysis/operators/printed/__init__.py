"""Rows of the tables that Paddle's profiler prints of its own recordings, counted as it counts.

Every event is a node of its thread's tree, calls of one name inside one another count twice, and
nothing is cut at the steps. Views of other recordings, and the pages, count moments once.
Definitions: ``docs/metrics.md#paddle``.
"""
