"""No torch: copies what it reads, prints its arguments, ends with a code."""

from __future__ import annotations

import sys

print(sys.argv[1:], "torch" in sys.modules)
print(sys.stdin.read().upper(), end="")
sys.exit(4)
