"""Facts of a trace that views, detectors and the timeline share: typed functions of a trace.

One room per subject; a room imports only rooms above it in this list (import-linter keeps it):

* ``algebra``: intervals, forests, containment, dictionary codes; knows arrays only.
* ``recording``: what a recording holds and lacks: devices, kinds of kernels, modules, samples.
* ``communication``: collectives, their matching across ranks, and the role of every moment.
* ``steps``: iterations, windows, masks of a selection, phases, step costs, data loading.
* ``idle``: idle time and its causes, utilization, the resource breakdown, the critical path.
* ``operators``: operator calls, their times and identity, call stacks, modules, hierarchies.
* ``kernels``: kernels, launches, copies, graphs, sequences, Tensor Core classes, compiled code.
* ``efficiency``: FLOPs and bytes, peaks, rooflines, MFU.
* ``memory``: allocations, their categories and owners, memory snapshots.
"""
