"""What records a running program: loaded into it, so nothing beyond the standard library at import.

It never raises into the program, never changes what it prints or returns, and leaves what it could
not record as a reason. How it works: ``docs/record.md``; what it writes: ``docs/format-record.md``.
"""
