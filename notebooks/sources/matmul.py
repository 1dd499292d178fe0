# %% [markdown]
# # Schedules of a matrix product
#
# One product, computed under every schedule that the code generator proposes for it, and under some that it does not.
# A schedule never changes what is computed; each is verified against the interpreter before it is timed. The times are of
# the machine on which the notebook was run last, on one thread. `python notebooks/make_notebooks.py matmul` runs it anew.

# %%
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # one thread for everyone

import matplotlib.pyplot as plt
import numpy as np

import tang_egg as te
from tang_egg.codegen.candidates import schedules
from tang_egg.measure import measure_calls

SIZE = 384
A, B = te.input("A", (SIZE, SIZE)), te.input("B", (SIZE, SIZE))
graph = te.graph("matmul", C=te.matmul(A, B))
print(graph)

# %% [markdown]
# ## The candidates
#
# They come from the structure of the comprehension: the last axis of the output is the vector axis; a further axis that one
# operand lacks makes a register tile; the operand that is read across the tile may be staged, copied once into the order in
# which it is read. The first is the one that `te.optimize` takes.

# %%
first = te.optimize(graph)
(kernel,) = first.program.kernels
proposed = [str(s) for s in schedules(kernel.outputs, threads=1)]
for s in proposed:
    print(s)

# %% [markdown]
# In these names `i0` is the row of `A`, `i1` the column of `B` and `i2` the axis that is folded.
#
# ## Forced one by one
#
# `te.optimize(graph, schedule={"C": ...})` compiles and verifies one schedule. `measure_calls` runs all of them in turns, so
# that whatever else the machine does slows all alike.

# %%
compiled = {s: te.optimize(graph, schedule={"C": s}) for s in dict.fromkeys(proposed)}
for s, c in compiled.items():
    assert c.verification.worst < 1e-5, s
a, b = np.random.default_rng(0).normal(size=(2, SIZE, SIZE)).astype(np.float32)
out = np.empty((SIZE, SIZE), np.float32)
calls = {s: (lambda c=c: c(a, b)) for s, c in compiled.items()} | {"NumPy": lambda: np.matmul(a, b, out=out)}
timings = dict(zip(calls, measure_calls(list(calls.values()), rounds=15, seconds=10)))
flop = 2 * SIZE**3
for s, t in sorted(timings.items(), key=lambda pair: pair[1].median):
    print(f"{t.median * 1e3:8.2f} ms ± {t.spread * 500:5.2f}   {flop / t.median / 1e9:6.1f} Gflop/s   {s}")

# %%
names = sorted(timings, key=lambda s: -timings[s].median)
figure, axes = plt.subplots(figsize=(9, 0.35 * len(names) + 1), dpi=72)
colours = ["C1" if s == "NumPy" else "C2" if s == first.schedule["C"] else "C0" for s in names]
axes.barh(names, [flop / timings[s].median / 1e9 for s in names], color=colours)
axes.set_xlabel("Gflop/s (green: first choice; orange: NumPy)")
axes.tick_params(axis="y", labelsize=8)
figure.tight_layout()
plt.show()

# %% [markdown]
# NumPy calls a library that is written by hand for such products. Plain loops (`point`) show what the same mathematics
# takes without tiles and vectors.
#
# ## Tiles
#
# The tile of rows and columns is what is held in registers. Too small, and operands are loaded again for little
# work; too large, and the accumulators no longer fit.

# %%
ROWS, COLUMNS = (2, 4, 6, 8), (8, 16, 32)
tiles = {
    (r, c): te.optimize(graph, schedule={"C": f"tile order=i1,i0 tile=i1:{c},i0:{r} stage=B"}, verified=False)
    for r in ROWS
    for c in COLUMNS
}
want = a @ b
for key, t in tiles.items():
    assert np.allclose(t(a, b), want, atol=1e-3), key
measured = dict(zip(tiles, measure_calls([lambda t=t: t(a, b) for t in tiles.values()], rounds=11, seconds=10)))
speed = np.array([[flop / measured[r, c].median / 1e9 for c in COLUMNS] for r in ROWS])
figure, axes = plt.subplots(figsize=(4.5, 3.2), dpi=72)
image = axes.imshow(speed, cmap="viridis")
axes.set_xticks(range(len(COLUMNS)), COLUMNS)
axes.set_yticks(range(len(ROWS)), ROWS)
axes.set_xlabel("columns of a tile")
axes.set_ylabel("rows of a tile")
for y, line in enumerate(speed):
    for x, value in enumerate(line):
        axes.text(x, y, f"{value:.0f}", ha="center", va="center", color="w")
figure.colorbar(image, label="Gflop/s")
figure.tight_layout()
plt.show()

# %% [markdown]
# ## What was written
#
# The kernel of the first choice, without its prelude:

# %%
source = first.source
start = source.index("// C[")
print("\n".join(source[start:].splitlines()[:32]))
