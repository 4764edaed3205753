"""Training jobs of many ranks, simulated: traces and flight-recorder dumps with one known cause.

It shares no code with the product. ``shape`` draws a job, ``topology`` says who shares a node, a
switch and a process group, ``program`` what a pipeline stage does in a step, ``network`` how long
a transfer takes, ``faults`` what is wrong, ``simulation`` when everything happens, ``traces``
writes what torch.profiler would have written and ``dumps`` what its flight recorder would have;
``judging`` asks the product and compares.
"""
