"""Texts that people write: conveniences that print as something plainer, every message, and hostile input."""

from __future__ import annotations

import pytest

from tang_egg.errors import GraphError, TextError
from tang_egg.text import parse_graph, print_graph

HEAD = """graph("g")
n = dim(lo=1)
X = input(f32[8, n])
V = input(f32[n])
N = input(i32[n])
B = input(bool[n])
"""


def read(line: str, output: str = "t") -> str:
    """The printed lines after the declarations of a graph that ends in `line`."""
    text = print_graph(parse_graph(f"{HEAD}{line}\noutput({output})\n", check=False))
    return "\n".join(x for x in text.splitlines() if " = input(" not in x and " = dim(" not in x)[len('graph("g")\n') :]


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("t[i] = V[i] * 2", "t[i] = V[i] * 2.0"),
        ("t[i] = 1 - V[i]", "t[i] = 1.0 - V[i]"),
        ("t[i] = V[i] - 1", "t[i] = V[i] - 1.0"),
        ("t[i] = V[i] / 4", "t[i] = V[i] * 0.25"),
        ("t[i] = 1 / V[i]", "t[i] = recip(V[i])"),
        ("t[i] = V[i] / V[i]", "t[i] = V[i] / V[i]"),
        ("t[i] = V[i] ** 3", "t[i] = V[i] * (V[i] * V[i])"),
        ("t[i] = relu(V[i])", "t[i] = max(V[i], 0.0)"),
        ("t[i] = max(V[i], 0)", "t[i] = max(V[i], 0.0)"),
        ("t[i] = sigmoid(V[i])", "t[i] = recip(exp(-V[i]) + 1.0)"),
        ("t[i] = V[i] if B[i] else 0", "t[i] = select(B[i], V[i], 0.0)"),
        ("t[i] = V[i] > 0", "t[i] = 0.0 < V[i]"),
        ("t[i] = V[i] != 0", "t[i] = not V[i] == 0.0"),
        ("t[i] = 0 <= V[i] < 1", "t[i] = 0.0 <= V[i] and V[i] < 1.0"),
        ("t[i] = B[i] & ~B[i]", "t[i] = B[i] and not B[i]"),
        ("t[i] = N[i] % 3", "t[i] = N[i] % i32(3)"),
        ("t[i] = exp(2)", None),
        ("t[i:n] = exp(2)", "t[i:n] = exp(2.0)"),
        ("t = 3\nu[i] = V[i] + t", None),
        ("t[i] = i", None),
        ("t[i:n] = n - i", "t[i:n] = n - i"),
        ("t[()] = sum[i](V[i], where=2 <= i < 5)", "t[()] = sum[i](V[i], where=(2 <= i, i <= 4))"),
        ("t[()] = sum[i](V[i], where=i < n and B[i])", "t[()] = sum[i](V[i], where=(i < n, B[i]))"),
        ("t[()] = sum[i](V[i], where=i == 3)", "t[()] = sum[i](V[i], where=(i <= 3, 3 <= i))"),
        ("t[()] = prod[i, j](X[i, j])", "t[()] = prod[i, j](X[i, j])"),
        ("x = V[i] + 1\nt[i] = x * x", "t[i] = (V[i] + 1.0) * (V[i] + 1.0)"),
        ("'a remark'\nt[i] = V[i]  # another", "t[i] = V[i]"),
        ("t[i]: f16 = V[i]", "t[i]: f16 = V[i]"),
    ],
)
def test_what_people_write_is_understood(line: str, printed: str | None) -> None:
    if printed is None:
        with pytest.raises(TextError):
            read(line)
    else:
        assert read(line).splitlines()[0] == printed


ERRORS: list[tuple[str, str, str, str]] = [
    ("t[i] = V[i", "this is not Python syntax: '[' was never closed", "7:9", "write statements as in O[i, c] = sum[j]"),
    ("t[i] = W[i]", "no input or tensor is called 'W'", "7:8", "known: X, V, N, B"),
    ("Key = input(f32[8])\nt[i] = key[i]", "no input or tensor is called 'key'", "8:8", "did you mean 'Key'?"),
    ("t[i] = sqtr(V[i])", "no function is called 'sqtr'", "7:8", "did you mean 'sqrt'?"),
    ("t[()] = som[i](V[i])", "no fold is called 'som'", "7:9", "did you mean 'sum'?"),
    (
        "t[i] = V[i] + V[j]",
        "index 'j' is bound by no fold and is no axis",
        "7:8",
        "add it to the axes, or fold over it",
    ),
    ("t[i] = sum[j](V[i])", "index 'j' has no size", "7:12", "write the size where it is bound: j:8"),
    ("t[()] = sum[j](X[j, 0] * V[j])", "index 'j' has two sizes, 8 and n", "7:13", "write the size where it is bound"),
    ("t[i] = X[i]", "'X' has 2 axes but is read with 1 coordinates", "7:8", "give one coordinate for each axis"),
    ("t[i] = V[V[i]]", "a coordinate of type real", "7:10", "use an integer, e.g. cast(x, i64)"),
    ("t[i] = V[i] + N[i]", "operands of different types", "7:8", "convert one of them with te.cast"),
    ("t[i] = V[i] + 'a'", "this syntax has no meaning here", "7:15", "write arithmetic, folds such as"),
    ("t[i] = V[i] @ V[i]", "this operator has no meaning here", "7:8", "use + - * / // % & | ^ << >> or a function"),
    ("t[i] = V[i] ** 65", "the exponent 65 is too large", "7:8", "use exp(y * log(x))"),
    ("t[i] = V[i] in V[i]", "this comparison has no meaning here", "7:8", "use < <= > >= == or !="),
    ("t[i]: i32 = V[i]", "'t' is declared i32 but its body is real", "7:1", "use cast(..., i32)"),
    ("t[i]: float = V[i]", "no type is called 'float'", "7:7", "known: f16, bf16, f32"),
    ("t[i, i] = V[i]", "an axis of 't' occurs twice", "7:1", "use a different index for each axis"),
    ("V[i] = X[0, i]", "'V' is defined twice", "7:1", "rename one of the two"),
    ("exp = V[i]", "'exp' is a word of the language", "7:1", 'choose another word, or exp_ = named("exp")'),
    ("x = x + 1", "'x' is defined by itself", "7:5", "use a fold or a scan for a recurrence"),
    ("import os", "this statement is none of the text form", "7:1", "write a declaration, x = ..., or T[i, j] = ..."),
    ("(a, b) = V", "nothing can be assigned to this", "7:1", "assign to a name x or to elements T[i, j]"),
    ("t[i] = argmax[j](X[i, j], j)", "'argmax' has several components", "7:8", "say which: .value or .position"),
    ("t[i] = argmax[j](X[i, j], j).index", "no component is called 'index'", "7:8", "known: value, position"),
    ("t[i] = argmax[j](X[i, j]).value", "'argmax' folds 2 components, not 1", "7:8", "give one for: value, position"),
    ("t[i] = sum[j](X[i, j] < 0)", "sum of bools", "7:8", "use any or all, or convert: cast(x, i64)"),
    ("t[i] = sum[j](X[i, j], if_=j)", "no keyword is called 'if_'", "7:28", "known: where"),
    ("t[i] = sum[j](X[i, j], where=V[j])", "a condition of type real", "7:30", "compare it, e.g. x[j] > 0"),
    ("t[i] = sum[j + 1](X[i, j])", "an index is expected", "7:12", "write its name, or name:size"),
    ("t[i] = sum[n](X[i, n])", "'n' is a dim or an expression, not an index", "7:12", "use another name for the index"),
    ("t[i] = sum[j]()", "a fold of nothing", "7:8", "give what is folded: sum[j](x[j])"),
    ("t[i] = max(V[i])", "'max' takes 2 operands, not 1", "7:8", "give as many as it takes"),
    ("t[i] = i8(V[i])", "i8(...) makes a constant of a number", "7:11", "convert by cast(x, i8)"),
    ("W = input(f32)", "an input needs a type and a shape", "7:11", "write input(f32[seq, 64]), or input(f32[()])"),
    ("W = input(f32[m])", "no dim is called 'm'", "7:15", "known: n"),
    ("W = input(f32[8], sorted=1)", "'sorted' is neither True nor False", "7:5", "write sorted=True or leave it out"),
    ("m = dim(lo=n)", "a whole number is expected", "7:12", "write it in digits"),
    ("M = monoid()", "a monoid needs a name", "7:5", 'write monoid("name", "commutative", ...)'),
    ("Q.a = component(real)", "a component of no monoid that can still be changed", "7:1", 'write m = monoid("name")'),
    ('M = monoid("m")\nt[()] = M[i](V[i])', "monoid 'm' has no components", "8:9", "write m.value = component"),
    (
        'M = monoid("m")\nM.a = component(real, identity=0.0)\nt[()] = M[i](V[i])',
        "component 'a' lacks its identity or combine",
        "8:7",
        "give both",
    ),
    (
        'M = monoid("m")\nM.a = component(real, identity=0.0, combine=left.b)\nt[()] = M[i](V[i])',
        "no component is called 'b'",
        "8:45",
        "known: a",
    ),
    ("x = left.a", "'x' refers to a state outside a monoid", "7:1", "write it below that line"),
    ("t[i:n] = top_k(3)", "no function is called 'top_k'", "7:10", "known:"),
    ("output(X)", "output 'X' is an input", "7:8", "define a tensor that reads it"),
    ('graph("h")', "this line stands twice", "7:1", "keep one of them"),
]


@pytest.mark.parametrize(("line", "what", "place", "mend"), ERRORS, ids=[e[1] for e in ERRORS])
def test_errors_say_what_where_and_how_to_mend(line: str, what: str, place: str, mend: str) -> None:
    with pytest.raises(TextError) as caught:
        parse_graph(f"{HEAD}{line}\n", "g.tang")
    assert caught.value.what == what
    assert caught.value.where == f"g.tang:{place}"
    assert caught.value.mend.startswith(mend)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("X = input(f32[8])\nt[i] = X[i]\noutput(t)", 'the text has no graph("name")'),
        ('graph("g")\nX = input(f32[8])\nt[i] = X[i]', "the text has no output(...)"),
        ("", 'the text has no graph("name")'),
    ],
)
def test_incomplete_texts(text: str, what: str) -> None:
    with pytest.raises(TextError) as caught:
        parse_graph(text, "g.tang")
    assert (caught.value.what, caught.value.where) == (what, "g.tang")


def test_a_graph_that_fails_its_check_is_refused_unless_asked() -> None:
    text = 'graph("g")\nX = input(f32[8])\nt[i:8] = X[i + 1]\noutput(t)\n'
    with pytest.raises(GraphError):
        parse_graph(text)
    assert print_graph(parse_graph(text, check=False)) == text


HOSTILE = {
    "parentheses": "t[i] = " + "(" * 5000 + "V[i]" + ")" * 5000,
    "some parentheses": "t[i] = " + "exp(" * 180 + "V[i]" + ")" * 180,
    "minus signs": "t[i] = " + "-" * 50000 + "V[i]",
    "long sum": "t[i] = " + " + ".join(["V[i]"] * 20000),
    "attributes": "t[i] = V" + ".a" * 20000,
    "powers": "t[i] = V[i]" + "**2" * 5000,
    "null byte": "t[i] = V[i]\0",
    "long number": "t[i] = V[i] * " + "9" * 10000,
    "huge float": "t[i] = V[i] * " + "9" * 4000,
    "call": "t[i] = __import__('os').system('true')",
    "lambda": "t[i] = (lambda: V[i])()",
    "comprehension": "t[i] = [V[i] for i in N]",
    "size": "x" * ((1 << 24) + 1),
    "surrogate": "t[i] = V[i] + \ud800",
    "deep coordinates": "t[i] = " + "N[" * 160 + "i" + "]" * 160,
    "huge dim": "m = dim(lo=" + "-" * 300 + "1)",
    "walrus": "t[i] = (x := V[i])",
    "star": "t[i] = max(*V)",
    "double star": "t[i] = sum[i](V[i], **{})",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_end_in_an_error(line: str) -> None:
    with pytest.raises(TextError):
        parse_graph(f"{HEAD}{line}\noutput(t)\n", check=False)


def test_doubling_lets_stay_small() -> None:
    lines = ["x0 = V[i]", *(f"x{n} = x{n - 1} * x{n - 1}" for n in range(1, 300)), "t[i] = x299"]
    text = print_graph(parse_graph(HEAD + "\n".join(lines) + "\noutput(t)\n"))
    assert len(text) < 300 * 80
