"""Memory of devices: allocations and releases, who made them, what they are, and the peak.

``snapshot`` reads the blocks of an allocator snapshot; the rest stands on memory events of a trace.
"""
