"""Reading of graphs from text (grammar in `text_names`). Nothing is evaluated; size and nesting are limited."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from tang_egg import ops
from tang_egg import text_names as words
from tang_egg.affine import Dim, Index
from tang_egg.check import check_graph
from tang_egg.errors import GraphError, TextError
from tang_egg.ir import Graph, Input, Source, Span, Tensor, type_of
from tang_egg.monoid import Component, Follow, Monoid, affine_matrix
from tang_egg.monoid_entries import top_k
from tang_egg.sizes import placeholder
from tang_egg.text_forms import Binder, Sized
from tang_egg.text_scalar import ScalarReader

MAX_CHARACTERS, MAX_DEPTH = 1 << 24, 150


def parse_graph(text: str, file: str = "<text>", check: bool = True) -> Graph:
    """The graph that a text states; `file` is named in messages.

    Raises TextError where the text cannot be read, GraphError where the graph that it states fails its check
    (left out without `check`).
    """
    tree = syntax_tree(text, file)
    try:
        graph = _GraphReader(file).read(tree)
        if check:
            check_graph(graph)
    except RecursionError:
        raise TextError(
            "an expression nests too deep, its named parts counted in",
            where=file,
            mend="make tensors of some of its parts: T[i, j] = ...",
        ) from None
    return graph


def syntax_tree(text: str, file: str) -> ast.Module:
    """The text as Python's parser reads it. Raises TextError where it is too long, nested too deep or no syntax."""
    if len(text) > MAX_CHARACTERS:
        raise TextError(
            f"the text has {len(text)} characters, more than {MAX_CHARACTERS}",
            where=file,
            mend="split it into several graphs",
        )
    deep = TextError(
        f"the text nests deeper than {MAX_DEPTH} levels",
        where=file,
        mend="give parts of a long expression names: x = ...",
    )
    try:
        tree = ast.parse(text, filename=file)
    except (RecursionError, MemoryError):
        raise deep from None
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        if "too many nested" in str(error):
            raise deep from None
        raise TextError(
            f"this is not Python syntax: {getattr(error, 'msg', error)}",
            where=f"{file}:{line}:{column}",
            mend="write statements as in O[i, c] = sum[j](P[i, j] * V[j, c])",
        ) from None
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        at, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise deep
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(at))
    return tree


class _MonoidText:
    """A monoid whose components have been read but not yet understood: they refer to each other."""

    def __init__(self, name: str, properties: frozenset[str]) -> None:
        self.name = name
        self.properties = properties
        self.lines: list[tuple[str, list[ast.expr], ast.Call]] = []
        self.lets: list[ast.Name] = []
        self.made: Monoid | None = None
        self.being_made = False


class _GraphReader(ScalarReader):
    """Reads one text, statement by statement."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.name: str | None = None
        self.inputs: list[Input] = []
        self.outputs: tuple[Tensor, ...] | None = None
        self.monoids: dict[str, _MonoidText | Monoid] = {}
        self.last_monoid: _MonoidText | None = None
        self.loose: dict[str, Index] = {}
        self.of_states: set[str] = {"left", "right", "self"}

    def read(self, tree: ast.Module) -> Graph:
        for statement in tree.body:
            try:
                self._statement(statement)
            except GraphError as error:
                raise TextError(error.what, where=self.place(statement), mend=error.mend) from None
        if self.name is None or self.outputs is None:
            missing = 'graph("name")' if self.name is None else "output(...)"
            raise TextError(f"the text has no {missing}", where=self.file, mend=f"add the line {missing}")
        return Graph(self.name, tuple(self.inputs), self.outputs)

    def _statement(self, at: ast.stmt) -> None:
        if isinstance(at, ast.Expr) and isinstance(at.value, ast.Call) and isinstance(at.value.func, ast.Name):
            if at.value.func.id == "graph":
                self._only_once(at, self.name)
                (self.name,) = self._strings(at.value, 1)
                return
            if at.value.func.id == "output":
                self._only_once(at, self.outputs)
                self.outputs = tuple(self._tensor_called(a) for a in at.value.args)
                return
        if isinstance(at, ast.Expr) and isinstance(at.value, ast.Constant) and isinstance(at.value.value, str):
            return  # a comment for the reader
        target = at.targets[0] if isinstance(at, ast.Assign) and len(at.targets) == 1 else None
        if isinstance(at, ast.AnnAssign):
            target = at.target
        value = getattr(at, "value", None)
        if target is None or value is None:
            self.fail(at, "this statement is none of the text form", "write a declaration, x = ..., or T[i, j] = ...")
        if isinstance(target, ast.Name) and isinstance(at, ast.Assign):
            self._named(target, value)
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            owner, member, indices = _target(target)
            if member is None:
                self._tensor(at, owner, indices, getattr(at, "annotation", None), value)
            else:
                self._component(at, owner, member, indices, value)
        else:
            self.fail(at, "nothing can be assigned to this", "assign to a name x or to elements T[i, j]")

    def _only_once(self, at: ast.AST, before: object) -> None:
        if before is not None:
            self.fail(at, "this line stands twice", "keep one of them")

    def _named(self, target: ast.Name, value: ast.expr) -> None:
        word = target.id
        made = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
        if made == "named":
            assert isinstance(value, ast.Call)
            (self.real_names[word],) = self._strings(value, 1)
            return
        if made == "index":
            assert isinstance(value, ast.Call)
            self.keywords(value, {}, 1)
            self.loose[self.index(target).name] = Index(self.real_name(word), self.size(value.args[0]))
            return
        self.claim(target, word)
        read: dict[str, Callable[[str, ast.Call], None]] = {
            "dim": self._dim,
            "input": self._input,
            "monoid": self._monoid,
            "top_k": self._constructed,
            "affine_matrix": self._constructed,
        }
        if made in read:
            assert isinstance(value, ast.Call)
            read[made](word, value)
        else:
            self.lets[word] = value
            if any(isinstance(n, ast.Name) and n.id in self.of_states for n in ast.walk(value)):
                # The types of components are known only when all of them have been read.
                self.of_states.add(word)
                if self.last_monoid is None or self.last_monoid.made is not None:
                    self.fail(target, f"'{word}' refers to a state outside a monoid", "write it below that line")
                self.last_monoid.lets.append(target)
            else:
                self.scalar(target)

    def _dim(self, word: str, call: ast.Call) -> None:
        facts = self.keywords(call, {"lo": 0, "hi": None, "multiple": 1}, 0)
        numbers = {k: self.integer(v) if isinstance(v, ast.expr) else v for k, v in facts.items()}
        self.dims[word] = Dim(self.real_name(word), numbers["lo"] or 0, numbers["hi"], numbers["multiple"] or 1)

    def _input(self, word: str, call: ast.Call) -> None:
        flags = self.keywords(call, {"sorted": False, "donated": False}, 1)
        values: dict[str, bool] = {}
        for name, flag in flags.items():
            known = flag.value if isinstance(flag, ast.Constant) else flag
            if not isinstance(known, bool):
                self.fail(call, f"'{name}' is neither True nor False", f"write {name}=True or leave it out")
            values[name] = known
        kind = call.args[0]
        if not isinstance(kind, ast.Subscript) or not isinstance(kind.value, ast.Name):
            self.fail(kind, "an input needs a type and a shape", "write input(f32[seq, 64]), or input(f32[()])")
        dtype = self.type_word(kind.value, ops.STORAGE)
        shape = tuple(self.size(s) for s in items(kind.slice))
        made = Input(self.real_name(word), shape, dtype, values["sorted"], values["donated"])
        self.arrays[word] = made
        self.inputs.append(made)

    def _monoid(self, word: str, call: ast.Call) -> None:
        if not call.args or call.keywords:
            self.fail(call, "a monoid needs a name", 'write monoid("name", "commutative", ...)')
        name, *properties = self._strings(call, len(call.args))
        self.monoids[word] = self.last_monoid = _MonoidText(name, frozenset(properties))

    def _constructed(self, word: str, call: ast.Call) -> None:
        self.keywords(call, {}, len(call.args))
        n = self.integer(call.args[0]) if call.args else 0
        if not 1 <= n <= 99:
            self.fail(call, f"a monoid of {n} parts", "give a number from 1 to 99")
        assert isinstance(call.func, ast.Name)
        if call.func.id == "affine_matrix":
            self.monoids[word] = affine_matrix(n)
        else:
            self.monoids[word] = top_k(n, self.type_word(call.args[1], words.TYPES) if len(call.args) > 1 else "real")

    def _component(self, at: ast.stmt, owner: ast.expr, member: str, axes: list[ast.expr], value: ast.expr) -> None:
        text = self.monoids.get(owner.id) if isinstance(owner, ast.Name) else None
        if not isinstance(text, _MonoidText) or text.made is not None:
            self.fail(at, "a component of no monoid that can still be changed", 'write m = monoid("name") before it')
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or value.func.id != "component":
            self.fail(value, "this is no component", "write component(real, identity=..., combine=...)")
        text.lines.append((member, axes, value))

    def fold_monoid(self, at: ast.Name, type: str) -> Monoid:
        """The monoid that a word stands for when its first lift has the type `type`."""
        found = self.monoids.get(at.id)
        if found is None:
            if at.id not in words.FOLDS:
                self.unknown(at, at.id, "fold", (*words.FOLDS, *self.monoids))
            if type == "bool" and at.id not in ("any", "all"):
                self.fail(at, f"{at.id} of bools", "use any or all, or convert: cast(x, i64)")
            return words.FOLDS[at.id](type)
        if isinstance(found, Monoid):
            return found
        if found.made is None:
            if found.being_made:
                self.fail(at, f"'{at.id}' is defined by itself", "combine primitives, or a monoid that stands before")
            found.being_made = True
            found.made = self._understand(at, found)
        return found.made

    def _understand(self, at: ast.AST, text: _MonoidText) -> Monoid:
        if not text.lines:
            self.fail(at, f"monoid '{text.name}' has no components", "write m.value = component(real, ...)")
        outer, self.components = self.components, {}
        fields: list[tuple[str, list[Binder], dict[str, Any]]] = []
        for member, axes, call in text.lines:
            known = self.keywords(call, {"identity": None, "combine": None, "follow": None}, 1)
            if known["identity"] is None or known["combine"] is None:
                self.fail(call, f"component '{member}' lacks its identity or combine", "give both")
            self.components[member] = self.type_word(call.args[0], words.TYPES)
            fields.append((member, [self.binder(a) for a in axes], known))
        for let in text.lets:
            self.scalar(let)
        components, combine, identity = [], [], []
        for member, binders, known in fields:
            type = self.components[member]
            sized = [self.sized_binder(b, ()) for b in binders]
            follow = None if known["follow"] is None else self._follow(known["follow"], type, sized)
            components.append(Component(member, type, tuple(i for _, i in sized), follow))
            combine.append(self.settled(known["combine"], type, sized))
            identity.append(self.settled(known["identity"], type, sized))
        self.components = outer
        return Monoid(text.name, tuple(components), tuple(combine), tuple(identity), text.properties)

    def _follow(self, call: ast.expr, type: str, sized: Sequence[Sized]) -> Follow:
        if not isinstance(call, ast.Call):
            self.fail(call, "this is no follow(...)", "write follow(statistic=..., rebase=..., empty=..., base=sum)")
        parts = self.keywords(call, dict.fromkeys(("statistic", "rebase", "empty", "base")), 0)
        for name, part in parts.items():
            if part is None:
                self.fail(call, f"follow lacks '{name}'", "give statistic, rebase, empty and base")
        base = parts["base"]
        if not isinstance(base, ast.Name):
            self.fail(base, "the base of a follower is the word of a monoid", "write base=sum")
        listed = parts["statistic"]
        written = listed.elts if isinstance(listed, ast.Tuple) else [listed]
        statistics = tuple(self.settled(s, None, sized) for s in written)
        rebase, empty = (self.settled(parts[n], None, sized) for n in ("rebase", "empty"))
        return Follow(statistics, rebase, empty, self.fold_monoid(base, type))

    def _tensor(
        self, at: ast.stmt, owner: ast.expr, axes: list[ast.expr], note: ast.expr | None, value: ast.expr
    ) -> None:
        if not isinstance(owner, ast.Name):
            self.fail(at, "a tensor is defined by its name and axes", "write T[i, j] = ...")
        word = owner.id
        self.claim(owner, word)
        binders = [self.binder(a) for a in axes]
        if len({b.word for b in binders}) < len(binders):
            self.fail(owner, f"an axis of '{word}' occurs twice", "use a different index for each axis")
        body = self.scalar(value)
        sized = [self.sized_binder(b, (body,)) for b in binders]
        body = self.settle((body,), [*sized, *((placeholder(w), i) for w, i in self.loose.items())])[0]
        self.loose.clear()
        self.check_settled(value, body)
        dtype, into = self._dtype(note, type_of(body))
        if ops.scalar_type(dtype) != type_of(body):
            self.fail(at, f"'{word}' is declared {dtype} but its body is {type_of(body)}", f"use cast(..., {dtype})")
        span = Span(self.file, at.lineno)
        self.arrays[word] = Tensor(self.real_name(word), tuple(i for _, i in sized), body, dtype, into, span)

    def _dtype(self, note: ast.expr | None, type: str) -> tuple[str, str]:
        if note is None:
            return "f32" if type == "real" else type, ""
        if isinstance(note, ast.Call):
            into = self.keywords(note, {"into": ""}, 0)["into"]
            if isinstance(into, ast.Constant) and isinstance(into.value, str):
                return self.type_word(note.func, ops.STORAGE), into.value
            self.fail(note, "'into' needs the name of an input", 'write f32(into="cache")')
        return self.type_word(note, ops.STORAGE), ""

    def _tensor_called(self, at: ast.expr) -> Tensor:
        found = self.array(at)
        if isinstance(found, Tensor):
            return found
        self.fail(at, f"output '{found.name}' is an input", "define a tensor that reads it")

    def array(self, at: ast.expr) -> Source:
        """The input or tensor that a word stands for."""
        if isinstance(at, ast.Name):
            if at.id in self.arrays:
                return self.arrays[at.id]
            self.unknown(at, at.id, "input or tensor", tuple(self.arrays))
        self.fail(at, "the name of an input or tensor is expected", "define it on a line before")

    def _strings(self, call: ast.Call, count: int) -> list[str]:
        found = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if len(found) != count or len(call.args) != count or call.keywords:
            self.fail(call, "a name in quotes is expected", 'write the name as a string: "name"')
        return found


def _target(at: ast.Attribute | ast.Subscript) -> tuple[ast.expr, str | None, list[ast.expr]]:
    """Owner, component name (or None for a tensor) and indices of what is assigned to."""
    indices: list[ast.expr] = []
    if isinstance(at, ast.Subscript):
        inner = at.value
        string = at.slice.value if isinstance(at.slice, ast.Constant) else None
        if isinstance(string, str):
            return inner, string, []
        indices = items(at.slice)
        if isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
            return inner.value, str(inner.slice.value), indices
        if not isinstance(inner, ast.Attribute):
            return inner, None, indices
        at = inner
    return at.value, at.attr, indices


def items(at: ast.expr) -> list[ast.expr]:
    """The indices between the brackets of a subscript."""
    return list(at.elts) if isinstance(at, ast.Tuple) else [at]
