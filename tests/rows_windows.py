"""Rows about windows: convolutions as products over views of their input, pooling as folds over them."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tang_egg.library_conv import conv1d, conv2d, conv_transpose
from tang_egg.library_pool import avg_pool, max_pool
from tests.rows_model import Form, Row


def convolution_by_columns(dtype: str, n: int, c: int, s: int, o: int) -> Graph:
    """A convolution of 3 by 3 through a tensor of all windows, zeros around the picture."""
    b, i, y, x = te.index("b", n), te.index("i", c), te.index("y", s), te.index("x", s)
    u, v, k = te.index("u", 3), te.index("v", 3), te.index("k", o)
    image, w = te.input("X", (n, c, s, s), dtype), te.input("W", (o, c, 3, 3), dtype)
    inside = te.holds([y + u >= 1, y + u < s + 1, x + v >= 1, x + v < s + 1])
    seen = e.select(inside, image[b, i, y + u - 1, x + v - 1], 0.0)
    columns = te.tensor("columns", (b, y, x, i, u, v), seen)
    body = te.sum((i, u, v), columns[b, y, x, i, u, v] * w[k, i, u, v])
    return graph("convolution_by_columns", te.tensor("Y", (b, k, y, x), body, dtype))


def convolution(dtype: str, n: int, c: int, s: int, o: int, stride: int, dilation: int, groups: int) -> Graph:
    """A convolution of 3 by 3 with zeros around, a stride, gaps and groups, and a bias."""
    x, w = te.input("X", (n, c, s, s), dtype), te.input("W", (o, c // groups, 3, 3), dtype)
    y = conv2d(x, w, te.input("b", (o,), dtype), stride=stride, padding=1, dilation=dilation, groups=groups)
    return graph("convolution", Y=y)


def causal_convolution(dtype: str, n: int, c: int, s: int) -> Graph:
    """A depthwise convolution over the last four steps."""
    x, w = te.input("X", (n, c, s), dtype), te.input("W", (c, 1, 4), dtype)
    return graph("causal_convolution", Y=conv1d(x, w, padding=((3, 0),), groups=c))


def transposed(dtype: str, n: int, c: int, s: int, o: int) -> Graph:
    """The transpose of a convolution of 3 by 3 with stride 2."""
    x, w = te.input("X", (n, c, s, s), dtype), te.input("W", (c, o, 3, 3), dtype)
    return graph("transposed", Y=conv_transpose(x, w, stride=2, padding=1, output_padding=1))


def largest(dtype: str, n: int, c: int, s: int) -> Graph:
    """The largest of windows of 3 by 3 that overlap, nothing around."""
    return graph("largest", Y=max_pool(te.input("X", (n, c, s, s), dtype), 3, stride=2, padding=1))


def averages(dtype: str, n: int, c: int, s: int) -> Graph:
    """The means of windows of 3 by 3 that overlap, what is outside not counted."""
    return graph("averages", Y=avg_pool(te.input("X", (n, c, s, s), dtype), 3, stride=2, padding=1))


BIG, SMALL = {"n": 4, "c": 32, "s": 32, "o": 64}, {"n": 2, "c": 4, "s": 5, "o": 6}
PLAIN = {"stride": 1, "dilation": 1, "groups": 1}
ONE = Form(1, {"X": 1, "W": 1}, (), ((1, 0),))
POOL = {"n": 4, "c": 32, "s": 64}
ROWS = {
    "convolution_by_columns": Row(convolution_by_columns, ONE, BIG, {**SMALL, "c": 3}),
    "convolution_padded": Row(convolution, ONE, {**BIG, **PLAIN}, {**SMALL, **PLAIN}),
    "convolution_strided": Row(convolution, ONE, {**BIG, **PLAIN, "stride": 2}, {**SMALL, **PLAIN, "stride": 2}),
    "convolution_dilated": Row(convolution, ONE, {**BIG, **PLAIN, "dilation": 2}, {**SMALL, **PLAIN, "dilation": 2}),
    "convolution_grouped": Row(convolution, ONE, {**BIG, **PLAIN, "groups": 4}, {**SMALL, **PLAIN, "groups": 2}),
    "convolution_depthwise": Row(
        causal_convolution, ONE, {"n": 4, "c": 256, "s": 1024}, {"n": 2, "c": 3, "s": 7}
    ),
    "convolution_transposed": Row(transposed, ONE, BIG, {**SMALL, "s": 3}),
    "pooling_max": Row(largest, Form(1, {"X": 1}, (), ((1, 0),)), POOL, {"n": 2, "c": 3, "s": 7}),
    "pooling_mean": Row(averages, Form(1, {"X": 1}), POOL, {"n": 2, "c": 3, "s": 7}),
}  # fmt: skip
