"""What a recording holds and what it lacks, before any selection.

Kinds and names of kernels, kinds of devices, modules and backward nodes, samples, versions, and the
reason why something was not recorded. What depends on steps or on a selection lives in ``steps``
or above.
"""
