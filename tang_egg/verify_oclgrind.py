"""Printed OpenCL under Oclgrind, in a process of its own: arrays of exact sizes, one launch after another.

    oclgrind_runs(steps, graph, cases, schedules)     what Oclgrind reports of the kernels, and what could not be done
    oclgrind OPTIONS python -m tang_egg.verify_oclgrind FILE      what it starts: runs the launches of a file

An array here ends where its elements end, so that an access one element behind it is seen, which a band of verify_step
hides from a simulator. Oclgrind gives its n-th buffer the addresses from n * 2^48 on, whereby reports name arrays.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.errors import TargetError
from tang_egg.ir import Graph, Tensor
from tang_egg.run_arrays import NUMPY
from tang_egg.run_command import finish, start
from tang_egg.run_cuda_bind import tile_count
from tang_egg.run_grid import distinct
from tang_egg.verify_boundary import case_inputs
from tang_egg.verify_finding import Finding
from tang_egg.verify_kernel import Case, stored
from tang_egg.verify_sample import work
from tang_egg.verify_shim import arrays_of
from tang_egg.verify_step import GridSteps, Steps

OPTIONS = ("--data-races", "--global-mem-size", str(1 << 32))
"""Not --uninitialized: version 21.10 of it stops at an instruction (freeze) that kernels have; fills show the same."""
SECONDS = 600.0
"""Seconds for all cases of a program: it interprets every instruction."""
MOST = 1 << 21
"""Points of folds in a case from which on the first and the last block of a kernel are run only."""
ADDRESS = 48
"""Bits of an address within a buffer of Oclgrind."""
_REPORT = re.compile(r"^(?P<said>[^\s][^\n]*)\n\tKernel:\s+\w+\n(?P<rest>(?:\t[^\n]*\n|\n(?=\t))*)", re.M)
_FATAL = re.compile(r"^OCLGRIND FATAL ERROR [^\n]*\n(?P<said>[^\n]*)\n(?:\t[^\n]*\n)*", re.M)
_PLACE = re.compile(r" at (?P<kind>\w+) memory address 0x(?P<address>[0-9a-f]+)")
_ENTITY = re.compile(r"Local\((\d+),\d+,\d+\) Group\((\d+),")


def oclgrind_runs(
    steps: GridSteps, graph: Graph, cases: Sequence[Case], schedules: Mapping[str, Any]
) -> tuple[int, list[Finding], list[str]]:
    """How many cases were run, what Oclgrind reported, each thing once, and what could not be done."""
    if shutil.which("oclgrind") is None:
        return 0, [], ["oclgrind is not installed (apt-get install oclgrind); bands and fills were checked"]
    with tempfile.TemporaryDirectory(prefix="tang-sanitize-") as folder:
        file = Path(folder, "launches.npz")
        _write(file, steps, graph, cases)
        few = max(work(graph.outputs, case.dims) for case in cases) > MOST
        command = [
            "oclgrind",
            *OPTIONS,
            *["--quick"] * few,
            sys.executable,
            "-m",
            "tang_egg.verify_oclgrind",
            str(file),
        ]
        try:
            process = start(command)
            _, text = finish(process, SECONDS)
        except TargetError:
            return 0, [], [f"oclgrind did not end within {SECONDS:.0f} s; bind smaller dimensions"]
    found, fatal = reports_of(text, steps, cases, schedules), _FATAL.search(text)
    if fatal:
        return 0, found, [f"oclgrind stopped: {fatal['said']}"]
    if process.returncode:
        last = " | ".join([x for x in text.splitlines() if x.strip()][-3:])
        return 0, found, [f"oclgrind ended with status {process.returncode}: {last[:300]}"]
    return len(cases), found, ["oclgrind ran the first and the last block of each kernel only: too large"] * few


def _write(file: Path, steps: GridSteps, graph: Graph, cases: Sequence[Case]) -> None:
    """The sources, and for every case the arrays and launches."""
    texts = {id(b.kernel): steps.texts[b.plan.name] for b in distinct(steps.kernels)}
    sources = list(dict.fromkeys(texts.values()))
    arrays: dict[str, Any] = {}
    plan: list[dict[str, Any]] = []
    order = arrays_of(steps.kernels)
    for c, case in enumerate(cases):
        inputs = case_inputs(graph, case.dims, case.values)
        sizes: list[int] = []
        for n, s in enumerate(order):
            shape = tuple(size.evaluate(case.dims) for size in s.shape)
            full = tuple(max(1, size) for size in shape)
            sizes.append(int(np.prod(full, dtype=np.int64)) * np.dtype(NUMPY[s.dtype]).itemsize)
            if 0 in shape:
                arrays[f"{c}_{n}"] = np.zeros(sizes[-1], np.uint8)  # what reads of an array without elements see
            elif not isinstance(s, Tensor):
                values = stored(np.asarray(inputs[s.name]), s.dtype)
                arrays[f"{c}_{n}"] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        launches = []
        for b in steps.kernels:
            named = {d: case.dims[d] for d in b.kernel.dims}
            assert b.kernel.launch is not None
            launches.append(
                {
                    "source": sources.index(texts[id(b.kernel)]),
                    "blocks": tile_count(b.kernel, named),
                    "threads": b.kernel.launch.threads,
                    "arrays": [order.index(s) for s in b.sources],
                    "workspace": steps.workspace(b, case.dims),
                    "dims": list(named.values()),
                }
            )
        plan.append({"sizes": sizes, "launches": launches})
    np.savez(file, plan=np.array(json.dumps({"sources": sources, "cases": plan})), **arrays)


def reports_of(text: str, steps: Steps, cases: Sequence[Case], schedules: Mapping[str, Any]) -> list[Finding]:
    """What Oclgrind wrote, as findings: of each kernel, array and kind of report the first."""
    text = _FATAL.sub("", text)
    arrays = dict(enumerate((s.name for _ in cases for s in arrays_of(steps.kernels)), start=1))
    launches = [(m.start(), int(m[1]), int(m[2])) for m in re.finditer(r"^te-launch (\d+) (\d+)$", text, re.M)]
    found: dict[tuple[str, str, str], Finding] = {}
    for m in _REPORT.finditer(text):
        _, c, k = max((x for x in launches if x[0] < m.start()), default=(0, 0, 0))
        case, kernel = cases[c], steps.kernels[k].plan.name
        array, said = "", m["said"].rstrip(" :")
        if place := _PLACE.search(said):
            buffer, byte = divmod(int(place["address"], 16), 1 << ADDRESS)
            array = arrays.get(buffer, "its workspace") if place["kind"] == "global" else ""
            where = f"byte {byte} of '{array}'" if array else f"{place['kind']} memory"
            said = f"{said[: place.start()]} at {where}"
        key = (kernel, array, re.sub(r"\d+", "", said))
        if entity := _ENTITY.search(m["rest"]):
            said += f", thread {entity[1]} of block {entity[2]}"
        schedule = str(schedules.get(kernel, ""))
        about = Finding("sanitizer", "opencl", kernel, array, f"Oclgrind: {said}", schedule, case.dims, case.values)
        found.setdefault(key, about)
    return list(found.values())


# ---- under Oclgrind ----


def launch_all(file: str) -> int:
    """Runs what a file lists on Oclgrind's device; says on standard error what is launched."""
    cl = importlib.import_module("pyopencl")
    devices = [d for p in cl.get_platforms() if p.name == "Oclgrind" for d in p.get_devices()]
    if not devices:
        print("Oclgrind has no device here", file=sys.stderr)
        return 3
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
    with np.load(file) as arrays:
        given = {k: arrays[k] for k in arrays}
    facts = json.loads(str(given.pop("plan")))
    buffers: list[list[Any]] = []  # all of them before a kernel is built, so that they are counted from 1 on
    for c, case in enumerate(facts["cases"]):
        buffers.append([cl.Buffer(context, cl.mem_flags.READ_WRITE, size) for size in case["sizes"]])
        for n, buffer in enumerate(buffers[-1]):
            if f"{c}_{n}" in given:
                cl.enqueue_copy(queue, buffer, given[f"{c}_{n}"])
    kernels = [cl.Program(context, text).build(options=["-cl-std=CL1.2"]).all_kernels()[0] for text in facts["sources"]]
    for c, case in enumerate(facts["cases"]):
        for k, x in enumerate(case["launches"]):
            if not x["blocks"]:
                continue
            print(f"te-launch {c} {k}", file=sys.stderr, flush=True)
            places = [buffers[c][n] for n in x["arrays"]]
            if x["workspace"]:
                places.append(cl.Buffer(context, cl.mem_flags.READ_WRITE, x["workspace"]))
            kernel = kernels[x["source"]]
            kernel.set_args(*places, *(np.int32(d) for d in x["dims"]))
            cl.enqueue_nd_range_kernel(queue, kernel, (x["blocks"] * x["threads"],), (x["threads"],))
            queue.finish()
    return 0


if __name__ == "__main__":
    os.environ["PYOPENCL_NO_CACHE"] = "1"  # what another device built
    sys.exit(launch_all(sys.argv[1]))
