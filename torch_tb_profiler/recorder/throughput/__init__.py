"""Times of steps: costs, rates and reader ratio; which steps are warm-up.

``step_timer`` is the part of the session, ``timer`` the public :class:`torch_tb_profiler.Timer`;
``figures`` computes what both report. Definitions: ``docs/metrics.md#throughput``.
"""
