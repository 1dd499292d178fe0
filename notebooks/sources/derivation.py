# %% [markdown]
# # One derivation, replayed
#
# A weighted mean under a softmax, as in one row of attention, is written in four naive steps. The laws make one pass of
# it. Here every step of the derivation is evaluated on the interpreter, before and after, so that the equality can be
# seen in numbers; then the pass itself is watched while it runs.
#
# [How to read a derivation](../docs/derivations.md) explains the terms. `python notebooks/make_notebooks.py derivation`
# runs this notebook anew.

# %%
import re

import matplotlib.pyplot as plt
import numpy as np

import tang_egg as te
from tang_egg.pipeline import extract
from tang_egg.report import build_report

i, j, c = te.indices("i j c")
X, V = te.input("X", (4, 48)), te.input("V", (48, 3))
top = te.tensor("top", i, te.max(j, X[i, j]))
weight = te.tensor("weight", (i, j), te.exp(X[i, j] - top[i]))
total = te.tensor("total", i, te.sum(j, weight[i, j]))
mean = te.tensor("mean", (i, c), te.sum(j, weight[i, j] / total[i] * V[j, c]))
graph = te.graph("weighted", mean)
print(graph)

# %% [markdown]
# ## What it means
#
# `te.interpret` is the oracle: float64, every fold in order. The inputs are so large that `exp` without the maximum
# overflows, and rise along the row, so that the maximum moves several times.

# %%
rng = np.random.default_rng(7)
scores = 800 + np.linspace(0, 20, 48) + rng.normal(scale=5.0, size=(4, 48))
arrays = {n: a.astype(np.float32).astype(np.float64) for n, a in {"X": scores, "V": rng.normal(size=(48, 3))}.items()}
oracle = te.interpret(graph, arrays)["mean"]
with np.errstate(over="ignore", invalid="ignore"):
    print("without the maximum:", (np.exp(arrays["X"]) @ arrays["V"] / np.exp(arrays["X"]).sum(1, keepdims=True))[0])
print("as written:         ", oracle[0])

# %% [markdown]
# ## The steps
#
# `extract` saturates and selects; nothing is compiled.

# %%
extraction = extract(graph)
(kernel,) = build_report(extraction).kernels
for n, step in enumerate(kernel.derivation, 1):
    print(f"{n}. {step.law}: holds on {step.holds} values, {step.rounding}")
    print("     ", step.before)
    print("    →", step.after)

# %% [markdown]
# ## Each side, evaluated
#
# A side without a pass is the text form of an expression over the graph's own tensors, so it is parsed as one more tensor
# and interpreted. A pass is evaluated by what it says: fold in order, keep the statistic of what has been seen, and when it
# moves, apply the carry.

# %%
def free_indices(text):
    """The indices of an expression that no fold in it binds, in the order i, j, c."""
    bound = re.findall(r"(?:sum|max|min|pass)\[(\w+)", text)
    used = {word for inside in re.findall(r"\[([^\]]*)\]", text) for word in re.findall(r"\b[a-z]\w*\b", inside)}
    return [name for name in ("i", "j", "c") if name in used - set(bound)]


def evaluate(text):
    """An expression over the tensors of the graph, as an array over its free indices."""
    axes = ", ".join(free_indices(text))
    head = str(graph).rsplit("output(", 1)[0]
    found = te.parse_graph(f"{head}step[{axes}] = {text}\noutput(step)")
    return te.interpret(found, arrays)["step"]


def fold_in_order(lift, statistic, carry, points):
    """A pass: `lift(point, at)` is summed, `carry(old, new, itself)` moves the sum; every intermediate sum is kept."""
    at, itself, seen = statistic(0), lift(0, statistic(0)), []
    seen.append((at, itself))
    for point in range(1, points):
        new = statistic(point)
        itself = carry(at, new, itself) + lift(point, new)
        at = new
        seen.append((at, itself))
    return seen


# %% [markdown]
# For the passes of this derivation: the statistic is `at = -top`, the negated maximum so far, and the carry is
# `exp(new - old) * itself`. Both are read off the steps above.

# %%
x, v = arrays["X"], arrays["V"]
running = -np.maximum.accumulate(x, axis=1)


def evaluate_pass(text):
    """The value of a pass over j, and its course, for `f` with or without the factor V[j, c]."""
    assert "at=-top[i]" in text and "carry=exp(new - old) * itself" in text, text
    weighted = "V[j, c]" in text

    def lift(point, at):
        e = np.exp(x[:, point] + at)
        return e[:, None] * v[point] if weighted else e

    def carry(old, new, itself):
        factor = np.exp(new - old)
        return factor[:, None] * itself if weighted else factor * itself

    return fold_in_order(lift, lambda point: running[:, point], carry, x.shape[1])


for n, step in enumerate(kernel.derivation, 1):
    before = evaluate(step.before)
    after = evaluate_pass(step.after)[-1][1] if step.after.startswith("pass") else evaluate(step.after)
    error = np.abs(after - before).max() / np.abs(before).max()
    print(f"{n}. {step.law:13} before {np.ravel(before)[0]:+.12f}  after {np.ravel(after)[0]:+.12f}  relative difference {error:.1e}")
    assert error < 1e-13

# %% [markdown]
# The differences are those of rounding in float64: the steps are marked `rescales`, since factors move across a fold.
#
# ## The pass while it runs
#
# Above: the elements of one row and the maximum so far. Below: the carried sum, and what the finished maximum would give
# for the same elements. They differ while the maximum still moves, each by the factor `exp(new - old)`, and meet at the
# end. No element is read twice.

# %%
row = 1
course = evaluate_pass(next(s.after for s in kernel.derivation if s.before == "sum[j](weight[i, j])"))
carried = np.array([itself[row] for _, itself in course])
finished = np.cumsum(np.exp(x[row] - x[row].max()))
figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.5), sharex=True, dpi=72)
above.plot(x[row], ".", color="0.5", label="X[i, j]")
above.step(range(x.shape[1]), -running[row], where="post", label="maximum so far")
above.legend(fontsize=8)
below.semilogy(carried, label="carried sum")
below.semilogy(finished, "--", label="sum under the finished maximum")
below.set_xlabel("j")
below.legend(fontsize=8)
figure.tight_layout()
plt.show()

# %% [markdown]
# ## The whole kernel
#
# The program after selection is a graph as well: one tensor, whose body is one fold with a state of three parts. The
# interpreter runs it, and the compiled kernel agrees with it in float32.

# %%
for p in kernel.passes:
    print(f"{p.name} over {', '.join(p.indices)}")
    for part in p.parts:
        print(f"  {part.name} = {part.fold} of {part.lift}" + (f", carried by {part.carry}" if part.carry else ""))
print(kernel.outputs[0].name, "=", kernel.outputs[0].mathematics)

derived = te.interpret(extraction.program.graph, arrays)["mean"]
compiled = te.optimize(graph)(*(arrays[i.name].astype(np.float32) for i in graph.inputs))
print(f"derived against naive, float64:  {np.abs(derived - oracle).max():.1e}")
print(f"compiled against naive, float32: {np.abs(compiled - oracle).max():.1e}")
assert np.allclose(derived, oracle, rtol=1e-12) and np.allclose(compiled, oracle, atol=1e-4)
