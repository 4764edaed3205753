"""What a recorder told of data loaders: their batches, the work on them, and what holds them up.

Definitions: ``docs/views-data.md#a-loader-of-torch``.
"""
