"""Collective operations: their calls, metadata, matching across ranks and clocks.

Also ``roles``: whether a moment was spent computing, communicating, copying … . Waiting of one rank
for another is measured here; what to do about it is said by detectors.
"""
