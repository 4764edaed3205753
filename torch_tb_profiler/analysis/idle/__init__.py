"""Idle time of devices and its causes, utilization, and the critical path of a step.

``attribution`` gives every idle moment of all devices together, or of one GPU, to exactly one cause
of ``causes``.
"""
