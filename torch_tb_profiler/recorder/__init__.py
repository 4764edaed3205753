"""Records a running program. This package is loaded into that program.

``session`` holds the parts that record one process (steps, windows, loaders, samples, settings,
throughput), each in a folder of its own; ``launch`` starts a program with the recorder inside.
Nothing here raises into the program or changes what it prints or returns; what cannot be recorded
is reported as a reason. Only the standard library is imported before the program imports torch.
How it works: ``docs/record.md``; what it writes: ``docs/format-record.md``.
"""
