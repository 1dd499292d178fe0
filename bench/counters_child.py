"""What `python -m bench counters` runs under Nsight Compute: one system on one cell, called a few times.

Only the last call lies between the profiler's start and stop, so that all of its kernels are counted, whatever their
names, and none of those that draw the inputs.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from bench.cuda_cells import cells


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.counters_child", description=__doc__)
    parser.add_argument("cell", help="its title")
    parser.add_argument("--schedule", metavar="TEXT")
    parser.add_argument("--peer", metavar="NAME")
    parser.add_argument("--peers", metavar="FOLDER")
    parser.add_argument("--calls", type=int, default=3, help="before the one that is counted")
    given = parser.parse_args()
    cell = next((c for c in cells() if c.title == given.cell), None)
    if cell is None:
        parser.error(f"no cell is named {given.cell}")

    import torch

    from bench import cuda_data, cuda_timing

    if given.peers:
        from bench.cuda_peers import add_site

        add_site(given.peers)
    call: Any
    with cuda_timing.stream(), torch.no_grad():
        inputs = cuda_data.draw(cell, "cuda")
        if given.peer:
            from bench import cuda_peers

            call = cuda_peers.prepare(given.peer, cell, inputs)
        else:
            from bench.cuda_machine import Ours

            call = Ours(cell, inputs, given.schedule)
        for _ in range(given.calls):
            call()
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        call()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        bad = cuda_data.unwritten(call.output())
    if bad:
        print(f"{bad} elements are NaN or infinite", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
