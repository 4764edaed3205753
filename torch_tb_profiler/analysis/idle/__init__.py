"""Idle time of devices and its causes, utilization, and the critical path of a step.

Every moment in which no device works is given to exactly one cause.
"""
