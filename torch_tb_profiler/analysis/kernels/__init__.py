"""Device work: kernels, copies, launches and their delays, graphs, sequences, compiled code.

Also calls into runtime and driver (``api_calls``) and the use of Tensor Cores.
"""
