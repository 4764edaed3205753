"""How much work calls of operators are: FLOPs and bytes. Definitions: ``docs/flops.md``."""
