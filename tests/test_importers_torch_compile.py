"""torch.compile(model, backend="tang_egg"): what is taken, what is left to PyTorch, and that results agree."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from tang_egg.errors import InputError, TangError, VerificationError

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tang_egg import torch_backend, torch_run  # noqa: E402
from tang_egg.torch_backend import FallbackWarning, Options, explain, options_of  # noqa: E402
from tests.torch_ops import compare  # noqa: E402
from tests.tree import ROOT  # noqa: E402


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    torch_backend._SAID.clear()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error", FallbackWarning)
        yield


def compiled(model: Any, **given: Any) -> Any:
    return torch.compile(model, backend="tang_egg", **given)


def check(f: Any, model: Any, *args: Any, tolerance: float = 2e-5) -> Any:
    """Compares a compiled module with the module; gives what it computed."""
    got, wanted = f(*args), model(*args)
    flat = torch.utils._pytree.tree_leaves
    for n, (a, b) in enumerate(zip(flat(got), flat(wanted), strict=True)):
        if isinstance(b, torch.Tensor):
            assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride()), f"result {n}"
            compare(a.double().numpy() if b.is_floating_point() else a.numpy(), b, tolerance, f"result {n}")
        else:
            assert a == b
    return got


class Mixed(nn.Module):
    """Something that cannot be compiled between two parts that can."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(6, 11), nn.Linear(11, 6), nn.LayerNorm(6)

    def forward(self, x: Any) -> Any:
        h = self.norm(self.down(F.gelu(self.up(x))) + x)
        s = torch.linalg.svdvals(h)
        return torch.softmax(h * s.sum(), -1), (h @ h.transpose(-1, -2)).transpose(0, 1)


def test_the_unsupported_part_runs_in_pytorch() -> None:
    model, x = Mixed(), torch.randn(3, 5, 6)
    report = explain(model, x)
    assert report.graphs == 1
    assert [sorted(p.operators) for p in report.compiled] == [
        ["aten.add.Tensor", "aten.addmm.default", "aten.gelu.default", "aten.native_layer_norm.default"],
        ["aten._softmax.default", "aten.bmm.default", "aten.mul.Tensor", "aten.sum.default"],
    ]
    assert set(report.left) == {"aten._linalg_svd.default"}
    assert "left to PyTorch: aten._linalg_svd.default" in str(report)
    check(compiled(model), model, x)


def test_sizes_that_change_and_inputs_that_are_strided() -> None:
    model = nn.Sequential(nn.Linear(6, 9), nn.SiLU(), nn.Linear(9, 4), nn.Softmax(-1))
    f = compiled(model, dynamic=True)
    for shape in ((3, 5, 6), (2, 7, 6), (4, 3, 6)):
        check(f, model, torch.randn(*shape))
    check(f, model, torch.randn(6, 5, 3).permute(2, 1, 0))
    check(f, model, torch.randn(4, 5, 12)[:, ::2, ::2])


def test_updated_parameters_are_seen() -> None:
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh()), torch.randn(5, 4)
    f = compiled(model)
    check(f, model, x)
    model[0].weight.mul_(-2.0)
    check(f, model, x)
    model[0].weight.data = torch.randn(3, 4)  # memory of its own
    check(f, model, x)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64"])
def test_other_float_types(kind: str) -> None:
    dtype = getattr(torch, kind)
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU()).to(dtype)
    check(compiled(model), model, torch.randn(3, 8, dtype=dtype), tolerance=2e-2 if dtype.itemsize == 2 else 1e-12)


def test_integers_and_bools() -> None:
    class Counting(nn.Module):
        def forward(self, x: Any, mask: Any) -> Any:
            kept = torch.where(mask, x, x % 3) * 2 - x // 4
            return kept, kept.sum(0), (kept > 1).any(1), kept.to(torch.uint8), kept.float().mean()

    x = torch.randint(-20, 20, (5, 7))
    check(compiled(Counting()), Counting(), x, torch.rand(5, 7) < 0.5)


def test_results_lie_as_those_of_pytorch_do() -> None:
    class Turned(nn.Module):
        def forward(self, x: Any) -> Any:
            y = F.relu(x * 2 + 1)
            return y.permute(2, 0, 1), y.exp().transpose(0, 1), y.reshape(2, 15) + 1, x

    got = check(compiled(Turned()), Turned(), torch.randn(2, 3, 5))
    got[1].add_(1)  # results are memory of their own


def test_mutation_and_aliases() -> None:
    class Writing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x: Any) -> Any:
            x.mul_(2.0)
            self.total.add_(x.sum(0)).sqrt_()
            return x.view(-1), torch.exp(x) + self.total

    one, two = Writing(), Writing()
    f, given = compiled(one), torch.rand(3, 4)
    a, b = given.clone(), given.clone()
    for _ in range(2):
        for got, wanted in zip(f(a), two(b), strict=True):
            compare(got.numpy(), wanted, 1e-5, "result")
        compare(a.numpy(), b, 1e-5, "input")
        compare(one.total.numpy(), two.total, 1e-5, "buffer")


def test_a_graph_break_makes_two_graphs() -> None:
    class Breaking(nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.tanh(x) * 3
            if y.sum() > 0:
                return torch.softmax(y + 1, -1)
            return torch.exp(y - 1) * 2

    report = explain(Breaking(), torch.ones(3, 4))
    assert report.graphs == 2
    for x in (torch.ones(3, 4), -torch.ones(3, 4)):
        check(compiled(Breaking()), Breaking(), x)


def test_training_is_left_to_pytorch_with_one_warning() -> None:
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh()), torch.randn(2, 4)
    with torch.enable_grad():
        with pytest.warns(FallbackWarning, match=r"call the model under torch\.no_grad\(\)"):
            y = compiled(model)(x)
        torch._dynamo.reset()
        compiled(model)(x)  # a second warning would be an error
        y.sum().backward()
    assert model[0].weight.grad is not None


def test_inference_mode() -> None:
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh()), torch.randn(2, 4)
    with torch.inference_mode():
        check(compiled(model), model, x)


def test_nan_and_infinities_come_through_where_they_are_asked_for() -> None:
    class Asking(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x / x
            return torch.where(torch.isnan(y), torch.zeros_like(y), y), torch.nan_to_num(1 / x, posinf=5.0)

    check(compiled(Asking()), Asking(), torch.tensor([[0.0, 1.0, float("inf")], [2.0, -0.0, float("nan")]]))


class Small(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.softmax(x * 2, -1).sum(0)


def failing(error: TangError) -> Any:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("error", [
    VerificationError("output 'y' is wrong", where="kernel 'y'", mend="report this"),
    TangError("no compiler", where="PATH", mend="install one"),
])  # fmt: skip
def test_a_part_that_cannot_be_built_falls_back(error: TangError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_run, "optimize", failing(error))
    monkeypatch.setattr(torch_run, "_DONE", {})
    f, x = compiled(Small()), torch.randn(3, 4)
    with pytest.warns(FallbackWarning) as caught:
        y = f(x)
    torch.testing.assert_close(y, Small()(x))
    text = str(caught[0].message)
    for part in (error.what, f"where: {error.where}", f"mend:  {error.mend}"):
        assert part in text


def test_a_call_that_fails_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = compiled(Small()), torch.randn(3, 4)
    check(f, Small(), x)
    monkeypatch.setattr(torch_run.Subgraph, "computed", failing(InputError("it does not fit", where="x", mend="fit")))
    with pytest.warns(FallbackWarning, match="it does not fit"):
        torch.testing.assert_close(f(x), Small()(x))
    torch.testing.assert_close(f(x), Small()(x))


def test_small_parts_stay() -> None:
    class One(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1

    report = explain(One(), torch.ones(3))
    assert not report.parts
    assert report.small == {"aten.add.Tensor": 1}
    assert len(explain(One(), torch.ones(3), options={"minimum": 1}).compiled) == 1


def test_subgraphs_that_are_alike_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    original = torch_run.optimize
    monkeypatch.setattr(torch_run, "_DONE", {})
    monkeypatch.setattr(torch_run, "optimize", lambda g, **k: made.append(g) or original(g, **k))
    for _ in range(2):
        torch._dynamo.reset()
        compiled(Small())(torch.randn(3, 4))
    assert len(made) == 1


def test_options() -> None:
    assert options_of({"verify": False, "minimum": 3}) == Options(verify=False, minimum=3)
    with pytest.raises(InputError, match="there is no option 'speed'") as caught:
        options_of({"speed": 11})
    assert caught.value.mend == "the options are: minimum, values, verify"
    for wrong in ({"minimum": 0}, {"values": "none"}, {"verify": 1}):
        with pytest.raises(InputError, match="no sensible value") as caught:
            options_of(wrong)
        assert "minimum from 1" in caught.value.mend


def test_verification_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_run, "_DONE", {})
    compiled(Small(), options={"verify": False})(torch.randn(3, 4))
    (made,) = torch_run._DONE.values()
    assert made.verification is None


def test_the_backend_is_known_by_name() -> None:
    assert "tang_egg" in torch._dynamo.list_backends()


def test_an_entry_point_makes_it_known(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = torch._dynamo.backends.registry
    point = EntryPoint("tang_egg", "tang_egg.torch_backend:backend", "torch_dynamo_backends")
    monkeypatch.setattr(torch_backend, "entry_points", lambda group: EntryPoints([point]))
    monkeypatch.setitem(registry._BACKENDS, "tang_egg", point)
    monkeypatch.delitem(registry._COMPILER_FNS, "tang_egg")
    torch_backend.register()
    assert "tang_egg" not in registry._COMPILER_FNS, "PyTorch itself registers what an entry point names"
    assert registry.lookup_backend("tang_egg") is torch_backend.backend


def test_the_document_runs() -> None:
    namespace: dict[str, Any] = {}
    text = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    with torch.enable_grad():
        for block in blocks:
            exec(block, namespace)
    assert namespace["y"].shape == (5, 4)
