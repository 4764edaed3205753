"""Has nothing to do with torch: says in capitals what it reads, ends with code 5."""

from __future__ import annotations

import sys

for line in sys.stdin:
    print(line.strip().upper())
print("to stderr", file=sys.stderr)
sys.exit(5)
