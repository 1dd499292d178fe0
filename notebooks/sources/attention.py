# %% [markdown]
# # Variants of attention, and the schedules that come out
#
# Five variants are written with the same naive composition: scores, a maximum, exponentials, a sum, a weighted sum. The
# compiler knows none of them by name. This notebook compares what is extracted: how many kernels, what is written to memory,
# by which laws, what the model predicts, what is measured, and what other schedules of the same kernels would take. The
# times are of the machine on which the notebook was run last, on one thread; `python notebooks/make_notebooks.py attention` runs it anew.

# %%
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # one thread for everyone

import matplotlib.pyplot as plt
import numpy as np

import tang_egg as te
from tang_egg.codegen.candidates import schedules
from tang_egg.measure import measure_calls
from tang_egg.report import build_report

HEADS, TOKENS, WIDTH = 4, 256, 64


def inputs(queries=(HEADS, TOKENS, WIDTH), keys=(HEADS, TOKENS, WIDTH)):
    return te.input("Q", queries), te.input("K", keys), te.input("V", keys)


VARIANTS = {
    "plain": te.graph("plain", O=te.attention(*inputs())),
    "causal": te.graph("causal", O=te.attention(*inputs(), causal=True)),
    "window": te.graph("window", O=te.attention(*inputs(), causal=True, window=32)),
    "grouped": te.graph("grouped", O=te.attention(*inputs((2, 2, TOKENS, WIDTH), (2, 1, TOKENS, WIDTH)), causal=True)),
    "decode": te.graph("decode", O=te.attention(*inputs((HEADS, 1, WIDTH), (HEADS, 2048, WIDTH)))),
}
print(VARIANTS["window"])

# %% [markdown]
# ## What is extracted
#
# Every variant is compiled under its first schedule and verified against the float64 interpreter.

# %%
compiled = {name: te.optimize(graph) for name, graph in VARIANTS.items()}
reports = {name: build_report(c.extraction, c) for name, c in compiled.items()}
rng = np.random.default_rng(0)
arrays = {
    name: [rng.normal(size=[n.value for n in i.shape]).astype(np.float32) for i in graph.inputs]
    for name, graph in VARIANTS.items()
}
calls = {name: (lambda c=c, name=name: c(*arrays[name])) for name, c in compiled.items()}
timings = dict(zip(calls, measure_calls(list(calls.values()), rounds=21, seconds=6)))

print(f"{'variant':9}{'kernels':>8}{'writes':>8}{'predicted':>11}{'measured':>10}{'error':>9}   laws")
for name, r in reports.items():
    laws = ", ".join(dict.fromkeys(law for k in r.kernels for law in k.laws))
    writes = ", ".join(o.name for k in r.kernels for o in k.outputs)
    print(f"{name:9}{len(r.kernels):8}{writes:>8}{r.predicted * 1e6:8.0f} µs{timings[name].median * 1e6:7.0f} µs{r.verified.worst:9.0e}   {laws}")

# %% [markdown]
# One kernel each, and nothing but the output is written: no matrix of scores. The laws are the same for all of them.
# The mask of the causal and the windowed variant is the domain of the pass, so what is outside is not computed:

# %%
for name, r in reports.items():
    for k in r.kernels:
        for p in k.passes:
            print(f"{name:8} {p.name} over {', '.join(p.indices)}" + (f" where {p.where}" if p.where else ""))
            for part in p.parts:
                print(f"           {part.name} = {part.fold} of {part.lift}")
            break

# %% [markdown]
# ## The schedules
#
# The names are those of the kernels; the second column says which index of the graph each is.

# %%
for name, r in reports.items():
    for k in r.kernels:
        print(f"{name:8} {k.schedule}")
        print(f"         {', '.join(f'{a} is {b}' for a, b in k.indices)}")

# %% [markdown]
# Rows come in blocks, keys stream in tiles, and the axis of the values is held whole, so that the scores of a tile are
# computed once for all of it.
#
# ## Other schedules, forced
#
# For each variant: the first choice and some of its neighbours. Each is forced by name and checked against the result of
# the first.

# %%
results = {}
for name, c in compiled.items():
    (kernel,) = c.program.kernels
    first = c.schedule[kernel.name]
    others = [str(s) for s in schedules(kernel.outputs, threads=1) if s.shape == "stream" and str(s) != first]
    forced = {s: te.optimize(VARIANTS[name], schedule={kernel.name: s}, verified=False) for s in others[:3]}
    forced = {first: c, **forced}
    want = c(*arrays[name])
    for s, f in forced.items():
        assert np.allclose(f(*arrays[name]), want, atol=1e-4), (name, s)
    timed = measure_calls([lambda f=f, name=name: f(*arrays[name]) for f in forced.values()], rounds=15, seconds=3)
    results[name] = dict(zip(forced, timed))
    for s, t in results[name].items():
        print(f"{name:8}{t.median * 1e6:9.0f} µs ± {t.spread * 5e5:5.0f}   {s}")

# %%
figure, axes = plt.subplots(figsize=(8, 3.6), dpi=72)
for n, (name, timed) in enumerate(results.items()):
    least = min(t.median for t in timed.values())
    for k, t in enumerate(timed.values()):
        axes.bar(n + 0.18 * (k - 1.5), t.median / least, 0.16, color="C2" if k == 0 else "C0")
axes.set_xticks(range(len(results)), results)
axes.set_ylabel("time over the least")
axes.set_title("green: first choice, blue: neighbours", fontsize=9)
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Beside NumPy
#
# The naive computation in NumPy writes and reads the matrix of scores several times.

# %%
def naive(q, k, v):
    s = q @ np.swapaxes(k, -1, -2) * np.float32(WIDTH**-0.5)
    s -= s.max(-1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(-1, keepdims=True)
    return s @ v


for name in ("plain", "decode"):
    assert np.allclose(naive(*arrays[name]), compiled[name](*arrays[name]), atol=1e-4)
    ours, numpy = measure_calls([calls[name], lambda name=name: naive(*arrays[name])], rounds=15, seconds=4)
    print(f"{name:8} one pass {ours.median * 1e6:7.0f} µs    NumPy {numpy.median * 1e6:7.0f} µs")

# %% [markdown]
# The predictions order candidates on one machine; beside the measured times they show how far a roofline is from a clock.

# %%
figure, axes = plt.subplots(figsize=(4.2, 3.4), dpi=72)
for name, r in reports.items():
    axes.loglog(r.predicted * 1e6, timings[name].median * 1e6, "o")
    axes.annotate(name, (r.predicted * 1e6, timings[name].median * 1e6), fontsize=8, xytext=(4, 4), textcoords="offset points")
line = [min(r.predicted for r in reports.values()) * 5e5, max(r.predicted for r in reports.values()) * 2e6]
axes.loglog(line, line, ":", color="0.5")
axes.set_xlabel("predicted, µs")
axes.set_ylabel("measured, µs")
figure.tight_layout()
plt.show()
