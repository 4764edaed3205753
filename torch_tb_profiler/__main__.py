"""``python -m torch_tb_profiler``: the command where no script folder is on the path."""

import sys

from torch_tb_profiler.safe_path import safe_path

if __name__ == "__main__":
    sys.path[:] = safe_path()
    from torch_tb_profiler.cli import main

    sys.exit(main())
