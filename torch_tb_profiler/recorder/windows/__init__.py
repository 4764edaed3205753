"""When the profiler records, and the traces it writes.

``controller`` is the part of the session: it starts and ends windows by steps, time or trigger.
``profiler_run`` wraps ``torch.profiler``, ``nsys`` Nsight Systems; ``program_profiler`` notices a
profiler that the program runs itself, which always has priority.
"""
