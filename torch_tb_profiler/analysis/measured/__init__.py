"""Measured counters of devices: what they are, and their means over windows of time, per work.

From recorders that sampled hardware counters, power, temperature and clocks beside the events.
"""
