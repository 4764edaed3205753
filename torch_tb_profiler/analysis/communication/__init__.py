"""Collective operations: their calls, metadata, matching across ranks and clocks.

Also ``roles``: whether a moment was spent computing, communicating, copying … . The time that ranks
wait for each other is measured here; what to do about it is for the detectors.
"""
