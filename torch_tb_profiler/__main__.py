"""``python -m torch_tb_profiler``: the command where no script folder is on the path."""

import sys

from torch_tb_profiler.cli import main

if __name__ == "__main__":
    sys.exit(main())
