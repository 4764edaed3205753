"""Does not use torch: prints its input in capitals, exits with code 5."""

from __future__ import annotations

import sys

for line in sys.stdin:
    print(line.strip().upper())
print("to stderr", file=sys.stderr)
sys.exit(5)
