"""On a machine with a GPU: compiles, runs and verifies many graphs for CUDA, one line for each.

python -m tests.device_check [--only TEXT] [--rows] [--large] [--time] [--dump FOLDER] [--limit SECONDS] [--jobs N]
    [--sources]

    PASS name: worst error, samples, kernels with their schedules
    FAIL name: why (a hung or crashed kernel fails its graph only)

Graphs run in a few processes; one that prints nothing for `limit` seconds is ended and its graph fails. `--sources`
only derives and prints, and needs no GPU. `--rows` adds the small twins of the table of algorithms and of the further
graphs, in the form that is required of them. `--only` takes names or parts of names, separated by commas.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tang_egg import expression, layers, library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.codegen.device import UNITS
from tang_egg.codegen.partition import partition
from tang_egg.codegen.split_fold import split_streams
from tang_egg.errors import TangError
from tang_egg.examples import EXAMPLES
from tang_egg.ir import Graph
from tang_egg.pipeline import choose_schedules, optimize, sources
from tang_egg.pipeline_compiled import Compiled, Extraction
from tang_egg.pipeline_space import typical_sizes
from tang_egg.run_cuda import CudaProgram, compile_cuda, cuda_kernels, cuda_sources
from tang_egg.run_cuda_driver import driver
from tang_egg.verify import sample_inputs
from tang_egg.verify_compare import excess, values_of

DONE = "device_check: done"
LOST = ("CUDARuntimeError", "CUDADriverError", "cudaError", "CUDA_ERROR", "Unspecified launch failure")
"""After these a process has no device any more; it ends, and another one checks the rest."""


def product(m: int, n: int, k: int, layout: str = "nn", dtype: str = "bf16", batch: int = 0) -> Graph:
    """C = A B, A stored [k, m] for layout "t.", B stored [n, k] for layout ".t"."""
    lead = (batch,) if batch else ()
    a = te.input("A", (*lead, *((m, k) if layout[0] == "n" else (k, m))), dtype)
    b = te.input("B", (*lead, *((k, n) if layout[1] == "n" else (n, k))), dtype)
    axes = tuple(te.index(x, s) for x, s in (*((("b", batch),) if batch else ()), ("i", m), ("j", n)))
    (*front, i, j), c = axes, te.index("c", k)
    left = a[(*front, i, c)] if layout[0] == "n" else a[(*front, c, i)]
    right = b[(*front, c, j)] if layout[1] == "n" else b[(*front, j, c)]
    return graph("product", te.tensor("C", axes, te.sum(c, left * right), dtype))


def attention(n: int, d: int, heads: tuple[int, ...] = (2, 3), dtype: str = "bf16", **options: object) -> Graph:
    """Attention over equal lengths of queries and keys."""
    q, k, v = (te.input(x, (*heads, n, d), dtype) for x in "QKV")
    return graph("attention", O=layers.attention(q, k, v, **options))  # type: ignore[arg-type]


def grouped(n: int, d: int) -> Graph:
    """Four query heads for each of two key heads."""
    q, (k, v) = te.input("Q", (2, 4, n, d), "bf16"), (te.input(x, (2, 1, n, d), "bf16") for x in "KV")
    return graph("grouped", O=layers.attention(q, k, v, causal=True))


def epilogue(m: int, n: int, k: int) -> Graph:
    """A product, a bias and GELU."""
    x, w, b = te.input("X", (m, k), "bf16"), te.input("W", (k, n), "bf16"), te.input("b", (n,), "bf16")
    return graph("epilogue", Y=library.pointwise(expression.gelu, library.linear(x, w, b)))


def cases(large: bool = False) -> dict[str, Callable[[], Graph]]:
    """The graphs by name."""
    found: dict[str, Callable[[], Graph]] = dict(EXAMPLES)
    for layout in ("nn", "nt", "tn", "tt"):
        for m, n, k in ((256, 256, 256), (200, 136, 328), (8, 8, 8), (640, 72, 1024)):
            found[f"bf16_{layout}_{m}x{n}x{k}"] = lambda m=m, n=n, k=k, x=layout: product(m, n, k, x)  # type: ignore[misc]
    found["f16_nn_256"] = lambda: product(256, 256, 256, "nn", "f16")
    found["f32_nn_200x136x328"] = lambda: product(200, 136, 328, "nn", "f32")
    found["bf16_odd_67x33x129"] = lambda: product(67, 33, 129)
    found["bf16_batch_3x256x128x192"] = lambda: product(256, 128, 192, "nn", "bf16", 3)
    found["bf16_epilogue"] = lambda: epilogue(256, 512, 320)
    for d in (64, 128, 256):
        for causal in (False, True):
            for n in (256, 200, 1000, 24):
                name = f"bf16_attention_d{d}_n{n}{'_causal' if causal else ''}"
                found[name] = lambda d=d, n=n, c=causal: attention(n, d, causal=c)  # type: ignore[misc]
    found["f16_attention_d64"] = lambda: attention(256, 64, dtype="f16")
    found["bf16_attention_window"] = lambda: attention(512, 64, causal=True, window=100)
    found["bf16_attention_cap"] = lambda: attention(256, 64, causal=True, soft_cap=30.0)
    found["bf16_attention_grouped"] = lambda: grouped(384, 64)
    if large:
        for n in (1024, 2048, 4096, 8192):
            found[f"large_bf16_nn_{n}"] = lambda n=n: product(n, n, n)  # type: ignore[misc]
            found[f"large_bf16_nt_{n}"] = lambda n=n: product(n, n, n, "nt")  # type: ignore[misc]
        for d in (64, 128, 256):
            for n, b in ((4096, 4), (16384, 1)):
                for causal in (False, True):
                    name = f"large_bf16_attention_d{d}_n{n}{'_causal' if causal else ''}"
                    found[name] = lambda d=d, n=n, b=b, c=causal: attention(n, d, (b, 16), causal=c)  # type: ignore[misc]
    return found


def twins() -> dict[str, Callable[[], Extraction]]:
    """The small twins of rows and further graphs by name, with f32 and with bf16 storage."""
    from tests.further import FURTHER
    from tests.rows import ROWS

    known = {**{f"row_{n}": r for n, r in ROWS.items()}, **{f"further_{n}": r for n, r in FURTHER.items()}}
    return {f"{n}_{t}": partial(r.twin, t) for n, r in known.items() for t in r.dtypes if not r.missing}


def check_twin(x: Extraction) -> str:
    """Compiles and verifies a program as it was derived, cut the way the device runs it best."""
    from tang_egg.verify import verify

    program = split_streams(partition(x.program), UNITS)
    schedules = choose_schedules(program, "cuda")
    found = verify(x.graph, program, compile_cuda(program, schedules, on=driver()), schedules)
    return f"error {found.worst:.2e}, {found.runs} runs; " + "; ".join(f"{k}: {s}" for k, s in schedules.items())


def check(made: Graph, timed: bool, dump: Path | None, name: str) -> str:
    """Compiles and verifies a graph, runs it in both ways, and says what was found. Raises what goes wrong."""
    start = time.perf_counter()
    compiled = optimize(made, target="cuda", verified=False)
    assert isinstance(compiled.runner, CudaProgram)
    if dump is not None:
        (dump / f"{name}.cu").write_text(compiled.source)
    built = time.perf_counter() - start
    from tang_egg.verify import verify

    found = verify(made, compiled.program, compiled.runner, compiled.schedules)
    text = f"error {found.worst:.2e}, {found.runs} runs, {found.samples} samples"
    text += "" if found.derived else " (kernel by kernel)"
    text += both_ways(compiled, timed)
    return f"{text}, built in {built:.1f} s; " + "; ".join(f"{k}: {s}" for k, s in compiled.schedule.items())


def both_ways(compiled: Compiled, timed: bool) -> str:
    """Compares a call with a prepared one; the time of the latter if it is wanted."""
    assert isinstance(compiled.runner, CudaProgram)
    dims = typical_sizes(compiled.graph)
    arrays = sample_inputs(compiled.graph, dims, edge=False)
    if any(t.into for t in compiled.graph.outputs):
        return ", donated"
    called = compiled.runner(arrays, dims)
    prepared = compiled.runner.prepare(arrays, dims)
    prepared()
    prepared()
    for t in compiled.graph.outputs:
        again = np.asarray(compiled.runner.driver.download(prepared.outputs[t.name]))
        if excess(values_of(again, t.dtype), values_of(called[t.name], t.dtype), t.dtype) > 0.5:
            raise AssertionError(f"a prepared call gives another '{t.name}' than a plain one")
    if not timed:
        return ""
    from tang_egg.measure_cuda import time_calls

    timing = time_calls({"it": prepared})["it"]
    return f", {timing.median * 1e6:.1f} us (spread {timing.spread * 1e6:.1f}, {timing.how})"


def _printed(x: Extraction) -> str:
    program = split_streams(partition(x.program), UNITS)
    texts = cuda_sources(cuda_kernels(program, choose_schedules(program, "cuda")))
    return ", ".join(f"{k} {len(v)} characters" for k, v in texts.items())


def child(names: Sequence[str], options: argparse.Namespace) -> None:
    """Checks graphs in this process, one line each."""
    known, derived = cases(True), twins() if options.rows else {}
    for name in names:
        try:
            if name in derived:
                x = derived[name]()
                line = f"PASS {name}: {_printed(x) if options.sources else check_twin(x)}"
            elif options.sources:
                texts = sources(known[name]())
                line = f"PASS {name}: {', '.join(f'{k} {len(v)} characters' for k, v in texts.items())}"
            else:
                line = f"PASS {name}: {check(known[name](), options.time, options.dump, name)}"
        except TangError as error:
            line = f"FAIL {name}: {type(error).__name__}: {' '.join(str(error).split())}"
        except Exception as error:  # of CuPy, or a mistake of ours
            line = f"FAIL {name}: {type(error).__name__}: {' '.join(str(error).split())[:600]}"
        print(line, flush=True)
        if any(e in line for e in LOST):
            os._exit(1)
    print(DONE, flush=True)


def batch(names: list[str], options: argparse.Namespace, said: list[str]) -> None:
    """Checks graphs in processes of their own, a new one after each that hung or crashed."""
    rest = list(names)
    while rest:
        more = [f"--limit={options.limit}", *(["--time"] if options.time else [])]
        more += [f"--dump={options.dump}"] if options.dump else []
        more += ["--sources"] if options.sources else []
        more += ["--rows"] if options.rows else []
        command = [sys.executable, "-m", "tests.device_check", *more, "--child", ",".join(rest)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_feed, args=(process, lines), daemon=True).start()
        why, tail, patience, before = "", "", 60.0, len(said)  # imports come first
        while True:
            try:
                line = lines.get(timeout=options.limit + patience)
            except queue.Empty:
                why = f"no result for {options.limit} s"
                break
            patience = 0.0
            if line is None:
                why = f"the process ended: {tail}" if rest else ""
                break
            if line.strip() == DONE:
                rest.clear()
            elif line.startswith(("PASS ", "FAIL ")) and rest:
                rest.pop(0)
                _say(line.rstrip(), said)
            elif line.strip():
                tail = f"{tail} {line.strip()}"[-400:]
        process.kill()
        process.wait()
        gave_up = len(said) > before and any(e in said[-1] for e in LOST)
        if rest and not gave_up:
            _say(f"FAIL {rest.pop(0)}: {why}", said)


_LOCK = threading.Lock()


def _say(line: str, said: list[str]) -> None:
    with _LOCK:
        said.append(line)
        print(line, flush=True)


def _feed(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.device_check")
    parser.add_argument("--only", default="")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--sources", action="store_true")
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--child", default="")
    options = parser.parse_args()
    if options.child:
        child(options.child.split(","), options)
        return 0
    if not options.sources:
        try:
            print(driver().title, flush=True)
        except TangError as error:
            print(f"SKIP everything: {error}")
            return 3
    if options.dump:
        options.dump.mkdir(parents=True, exist_ok=True)
    wanted = [w for w in options.only.split(",") if w]
    names = [
        n
        for n in (*cases(options.large), *(twins() if options.rows else ()))
        if not wanted or any(w in n for w in wanted)
    ]
    jobs = max(1, min(options.jobs, len(names)))
    parts = [names[n::jobs] for n in range(jobs)]
    results: list[list[str]] = [[] for _ in parts]
    team = [threading.Thread(target=batch, args=(p, options, r)) for p, r in zip(parts, results, strict=True)]
    for t in team:
        t.start()
    for t in team:
        t.join()
    lines = [line for r in results for line in r]
    failed = [line for line in lines if line.startswith("FAIL")]
    print(f"{len(lines) - len(failed)} of {len(lines)} pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
