"""Classic bugs of kernels, each as a change of a kernel that is really printed: what verification has to find.

A Bug names a program, a target, a schedule and the change; `kernel` and `buffer` are what must be named, `kind` is how
it is found. Patterns are over the plain schedules, which every program has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tang_egg as te
from tang_egg.ir import Graph

N = te.dim("n", lo=1)
I, J, K = te.indices("i j k")  # noqa: E741
X = te.input("X", (N, 70))
A, B = te.input("A", (N, 40)), te.input("B", (40, 50))
A8, B8 = te.input("A", (N, 40), "i8"), te.input("B", (40,), "i8")
Q, KEYS, V = (te.input(x, (N, 8)) for x in ("Q", "KEYS", "V"))
L, M = te.input("L", (N, 70)), te.input("M", (N, 70))


def _half(factor: float) -> Graph:
    return te.graph("half", Y=te.tensor("Y", (I, J), X[I, J] * factor, "bf16"))


PROGRAMS: dict[str, Callable[[], Graph]] = {
    "matmul": lambda: te.graph("matmul", C=te.matmul(A, B)),
    "softmax": lambda: te.graph("softmax", P=te.softmax(X)),
    "arg_max": lambda: te.graph("arg_max", At=te.tensor("At", I, te.argmax(J, X[I, J]))),
    "row_max": lambda: te.graph("row_max", R=te.tensor("R", I, te.max(J, X[I, J]))),
    "row_sum": lambda: te.graph("row_sum", R=te.tensor("R", I, te.sum(J, X[I, J]))),
    "running": lambda: te.graph("running", S=te.cumulative_sum(X)),
    "dot": lambda: te.graph("dot", D=te.tensor("D", I, te.sum(K, te.cast(A8[I, K], "i32") * te.cast(B8[K], "i32")))),
    "half": lambda: _half(0.7),
    "epilogue": lambda: te.graph("epilogue", Z=te.tensor("Z", (I, J), te.relu(te.matmul(A, B)[I, J] * 2.0 - 1.0))),
    "causal": lambda: te.graph("causal", O=te.attention(Q, KEYS, V, causal=True)),
    "transpose": lambda: te.graph("transpose", Y=te.tensor("Y", (J, I), X[I, J])),
    "difference": lambda: te.graph("difference", D=te.tensor("D", (I, J), L[I, J] - M[I, J])),
}
POINT, LANES = "point grid=i0", "split fold=i1:warp grid=i0"
PLANE = "point grid=i0,i1"


@dataclass(frozen=True, slots=True)
class Bug:
    """See the module text. `values`: as in verify. `sanitize`: found by a sanitizer, named by its tool's words.
    `always`: not left to the nightly run."""

    name: str
    program: str
    target: str
    pattern: str
    new: str
    buffer: str
    schedule: str = ""
    kinds: tuple[str, ...] = ("wrong",)
    sizes: tuple[int, ...] = (37,)
    values: str = "finite"
    once: bool = False
    sanitize: bool = False
    said: str = ""
    always: bool = False


BUGS = (
    # -- the processor
    Bug("bytes for floats", "row_max", "c", r"X\[70\*i0 \+ i1\]", "(*(const float *)((const char *)X + 70*i0 + i1))",
        "R", "point parallel=i0", always=True),
    Bug("a vector lane is taken twice", "row_sum", "c", r"(\w+)\[0\] \+ \1\[1\]", r"\1[0] + \1[0]", "R",
        "split order=i0 parallel=i0 fold=i1:lanes:8", always=True),
    Bug("a tail counts elements twice", "row_sum", "c", r"te_select_f32x8\(\([^\n]*?(?=, \(t_1 \+)",
        "te_select_f32x8((te_splat_i32x8(0) == te_splat_i32x8(0))", "R", "split order=i0 parallel=i0 fold=i1:lanes:8"),
    Bug("a stage is stale", "matmul", "c", r"(for \(int64_t i2 = 0; i2 < 40; i2\+\+\) \{\s*te_store_f32x8\(B_1)",
        r"if (i1 == 0) \1", "C", "tile order=i1,i0 parallel=i0 tile=i1:16,i0:4 stage=B", always=True),
    Bug("a stage is freed early", "matmul", "c", r"float tile\[\d+\] __attribute__\(\(aligned\(64\)\)\);",
        "float *tile = rows;", "C", "tile order=i1,i0 parallel=i0 tile=i1:16,i0:6 block=i0:48,i1:64,i2:40",
        sizes=(521,)),
    Bug("an accumulator starts with what was there", "row_sum", "c", r"acc = 0\.0f;", "", "R", "point parallel=i0"),
    Bug("the share of a thread is too small", "matmul", "c", r"i0_full; i0 \+= 4\)", "i0_full; i0 += 8)", "C",
        "tile order=i1,i0 parallel=i0 tile=i1:16,i0:4 stage=B", kinds=("unwritten",)),
    Bug("an input is overwritten", "row_max", "c", r"R\[i0\] = acc;", "R[i0] = acc; ((float *)X)[i0] = acc;", "X",
        "point parallel=i0", kinds=("outside",), always=True),
    Bug("a store reaches behind the array", "half", "c", r"te_min_i64\(i1, 54\)", "i1", "Y",
        "point order=i0,i1 parallel=i0 tile=i1:16", kinds=("outside",)),
    Bug("threads share a variable", "row_sum", "c", r"float acc;\n", "static float acc;\n", "",
        "point parallel=i0", kinds=("sanitizer",), sanitize=True, said="data race", always=True),
    Bug("rows race for one output", "row_sum", "c", r"R\[i0\] = acc;", "R[i0 / 2] = acc; R[i0] = acc;", "R",
        "point parallel=i0", kinds=("sanitizer",), sanitize=True, said="data race"),
    Bug("threads share a stage", "matmul", "c", r"float rows\[", "static float rows[", "",
        "tile order=i1,i0 parallel=i0 tile=i1:16,i0:6 block=i0:48,i1:64,i2:40", kinds=("sanitizer",), sizes=(521,),
        sanitize=True, said="data race"),
    Bug("a cached kernel is stale", "half", "opencl", r"0\.7f?", "0.3f", "Y", PLANE),
    Bug("a read reaches behind the array", "row_max", "c", r"i1 < 70; i1\+\+", "i1 <= 70; i1++", "X",
        "point parallel=i0", kinds=("sanitizer",), sanitize=True, said="heap-buffer-overflow", always=True),
    Bug("a maximum drops NaN", "row_max", "c", r"T t = a > b \? a : b; return a != a \? a : t;",
        "return a > b || b != b ? a : b;", "R", "point parallel=i0", values="ieee", always=True),
    # -- OpenCL
    Bug("operands are swapped", "difference", "opencl", r"\(L\[70\*i0 \+ i1\] \+ \(-M\[70\*i0 \+ i1\]\)\)",
        "(M[70*i0 + i1] + (-L[70*i0 + i1]))", "D", PLANE),
    Bug("a barrier is missing before a read", "softmax", "opencl",
        r"barrier\(CLK_LOCAL_MEM_FENCE\);( *\\\n +const T y)", r"\1", "P", "split fold=i1:warp grid=i0 warp=i1",
        always=True),
    Bug("a barrier is missing before a write", "softmax", "opencl",
        r"(const T y = place\[lane \^ mask\]; *\\\n) +barrier\(CLK_LOCAL_MEM_FENCE\);", r"\1 ", "P",
        "split fold=i1:warp grid=i0 warp=i1"),
    Bug("the last block is dropped", "matmul", "opencl", r"point < 50\*n", "point < 50*n / 256 * 256", "C", PLANE,
        kinds=("unwritten",)),
    Bug("a maximum starts from 0", "row_max", "opencl", r"acc\[0\] = \(-INFINITY\)", "acc[0] = 0.0f", "R", POINT,
        always=True),
    Bug("a tie is broken the wrong way", "arg_max", "opencl", r"\(t_3 <= i1\)", "(t_3 >= i1)", "At", POINT,
        always=True),
    Bug("signs of bytes are lost", "dot", "opencl", r"\(\(int\)A\[40\*i0 \+ i1\]\)", "((int)(uchar)A[40*i0 + i1])",
        "D", POINT),
    Bug("a mask has the wrong side", "causal", "opencl", r"te_min_int\(n, \(i0 \+ 1\)\)", "te_min_int(n, i0)", "O",
        "point tile=i3:* grid=i0", always=True),
    # -- WGSL
    Bug("a stride is wrong", "matmul", "wgsl", r"B\[i1 \+ 50\*i2\]", "B[i1 + 49*i2]", "C", PLANE),
    Bug("a bound is off by one", "matmul", "wgsl", r"i2 < 40", "i2 < 39", "C", PLANE, always=True),
    Bug("a share of threads overlaps", "matmul", "wgsl", r"= 0 \+ 1 \* te_place", "= 0 + 2 * te_place", "C", PLANE,
        kinds=("unwritten",)),
    Bug("a rescale is missing", "softmax", "wgsl", r"\(te_exp_f32\(\(t_2 \+ \(-t_1\)\)\) \* t_3\)", "t_3", "P", POINT,
        always=True),
    Bug("an epilogue runs in the wrong order", "epilogue", "wgsl",
        r"te_max_f32\(\(\(acc\[0\] \* 2\.0\) \+ \(-1\.0\)\), 0\.0\)", "((te_max_f32(acc[0], 0.0) * 2.0) + (-1.0))",
        "Z", PLANE),
    Bug("axes are in the wrong order", "transpose", "wgsl", r"Y\[i0\*n \+ i1\]", "Y[i0 + 70*i1]", "Y", PLANE,
        always=True),
    Bug("a neighbour in a word is not cleared", "half", "wgsl", r"atomicAnd\(&Y\[te_word\][^\n]*\n", "\n", "Y", PLANE,
        always=True),
    Bug("the first element is counted twice", "row_sum", "wgsl", r"acc\[0\] = 0\.0;", "acc[0] = X[70*i0];", "R", POINT),
    Bug("a barrier is missing on lanes", "softmax", "wgsl", r"workgroupBarrier\(\);\n    let y", "let y", "P",
        "split fold=i1:warp grid=i0 warp=i1"),
    # -- Metal, by its shim
    Bug("an accumulator is lost", "matmul", "metal", r"acc\[0\] = \(acc\[0\] \+ ", "acc[0] = (", "C", PLANE),
    Bug("a tail is not guarded", "matmul", "metal", r"point < 50\*n", "point < (50*n + 255) / 256 * 256", "C", PLANE,
        kinds=("outside",), always=True),
    Bug("an index overflows", "matmul", "metal", r"C\[50\*i0 \+ i1\]", "C[(ushort)(50*i0 + i1)]", "C", PLANE,
        kinds=("unwritten",), sizes=(1400,)),
    Bug("bf16 is cut off, not rounded", "half", "metal", r"\(u \+ 0x7FFF \+ \(u >> 16 & 1\)\) >> 16", "u >> 16", "Y",
        PLANE, always=True),
    Bug("a scan leaves its own element out", "running", "metal",
        r"(acc\[0\] = \(acc\[0\] \+ X\[70\*i0 \+ i1\]\);)\s*(S\[70\*i0 \+ i1\] = acc\[0\];)", r"\2 \1", "S", POINT),
    Bug("products of bytes stay bytes", "dot", "metal", r"int acc\[1\];", "char acc[1];", "D", POINT),
    Bug("lanes exchange with the wrong ones", "softmax", "metal", r"te_shuffle\((t_\d+), 8\)", r"te_shuffle(\1, 4)",
        "P", "split fold=i1:warp grid=i0 warp=i1"),
)  # fmt: skip
