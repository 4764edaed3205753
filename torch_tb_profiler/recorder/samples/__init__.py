"""Samples of the host, of this process, of its loader workers and of its GPUs.

``sampler`` is the part of the session; ``host_samples`` and ``gpu_samples`` turn counters of the
system (``/proc``, psutil, NVML) into metrics. What each metric means: ``knowledge/resources.toml``.
"""
