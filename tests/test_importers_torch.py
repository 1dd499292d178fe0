"""Programs of torch.export as models: whole networks, symbolic sizes, names, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import GraphError, InputError

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tang_egg.importers.torch import from_torch  # noqa: E402
from tang_egg.importers.torch_table import op, overloads, rows  # noqa: E402
from tang_egg.model import Model  # noqa: E402
from tests.torch_ops import compare  # noqa: E402


@pytest.fixture(autouse=True)
def same_weights() -> None:
    torch.manual_seed(0)


def imported(model: Any, *args: Any, **shapes: Any) -> Model:
    return from_torch(torch.export.export(model.eval(), args, **shapes))


def check(model: Any, *args: Any, tolerance: float = 2e-5) -> Model:
    """The model of a module, compared with the module itself."""
    made = imported(model, *args)
    with torch.no_grad():
        wanted = model(*args)
    compare_all(made, args, wanted, tolerance)
    return made


def compare_all(made: Model, args: Any, wanted: Any, tolerance: float = 2e-5) -> None:
    got = made.interpret(dict(zip(made.inputs, (a.numpy() for a in args), strict=True)))
    flat = torch.utils._pytree.tree_leaves(wanted)
    assert len(flat) == len(got)
    for (name, array), tensor in zip(got.items(), flat, strict=True):
        compare(array, tensor, tolerance, name)


class Convolutional(nn.Module):
    """Convolution, batch norm and pooling, then a depthwise and a transposed convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.depth = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 4, 1)
        self.back = nn.ConvTranspose2d(4, 3, 3, 2, 1, output_padding=1)
        self.first[1].running_mean.uniform_(-1, 1)
        self.first[1].running_var.uniform_(0.5, 2)

    def forward(self, x: Any) -> Any:
        y = F.hardswish(self.point(F.silu(self.depth(self.first(x)))))
        return self.back(y), F.adaptive_avg_pool2d(y, 1).flatten(1).softmax(-1)


class Block(nn.Module):
    """Patches of an image through one block of a vision transformer."""

    def __init__(self, width: int = 12, heads: int = 3) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.place = nn.Parameter(torch.randn(1, 1 + 6, width) * 0.1)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.joined, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 20), nn.GELU(), nn.Linear(20, width))
        self.heads, self.head = heads, nn.Linear(width, 5)

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
        b, n, c = x.shape
        q, k, v = self.joined(self.norms[0](x)).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        weights = ((q @ k.transpose(-2, -1)) * (c // self.heads) ** -0.5).softmax(-1)
        x = x + self.merge((weights @ v).transpose(1, 2).reshape(b, n, c))
        x = x + self.mlp(self.norms[1](x))
        return self.head(self.norms[2](x)[:, 0])


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag, self.out = nn.EmbeddingBag(11, 6, mode="mean"), nn.Linear(6, 3)

    def forward(self, index: Any, offsets: Any) -> Any:
        return self.out(self.bag(index, offsets))


def test_a_perceptron() -> None:
    made = check(nn.Sequential(nn.Linear(7, 13), nn.Tanh(), nn.Dropout(0.5), nn.Linear(13, 5)), torch.randn(3, 7))
    assert list(made.outputs) == ["output"]
    assert sorted(made.weights) == ["_0_bias", "_0_weight", "_3_bias", "_3_weight"]


def test_a_small_convolutional_network() -> None:
    check(Convolutional(), torch.randn(2, 3, 17, 14))


def test_a_block_of_a_vision_transformer() -> None:
    check(Block(), torch.randn(2, 3, 8, 12))


@pytest.mark.parametrize("first", [False, True])
def test_an_encoder_layer(first: bool) -> None:
    layer = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True, norm_first=first, activation="gelu")
    check(layer, torch.randn(2, 5, 12))


def test_an_encoder_layer_with_masks() -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.TransformerDecoderLayer(12, 3, 20, batch_first=True)

        def forward(self, x: Any, memory: Any, pad: Any) -> Any:
            causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.layer(x, memory, tgt_mask=causal, memory_key_padding_mask=pad)

    pad = torch.tensor([[False, False, True], [False, True, True]])
    check(Masked(), torch.randn(2, 5, 12), torch.randn(2, 3, 12), pad)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_layers(kind: str) -> None:
    layer = getattr(nn, kind)(4, 3, num_layers=2, bidirectional=True, batch_first=True)
    check(layer, torch.randn(2, 4, 4))


def test_embedding_bags() -> None:
    check(Bags(), torch.randint(0, 11, (9,)), torch.tensor([0, 2, 2, 7]))


class Sizes(nn.Module):
    """Arithmetic on symbolic sizes: merged, doubled and counted."""

    def forward(self, x: Any) -> dict[str, Any]:
        b, n, c = x.shape
        flat = x.reshape(b * n, c)
        twice = torch.cat([flat, flat * 2])
        return {
            "twice": twice,
            "mean": x.sum(1) / n,
            "scaled": x * (1.0 / (n**0.5)),
            "last": x[:, -1:, :],
            "heads": x.view(b, n, 2, c // 2).transpose(1, 2),
            "ranked": x + torch.arange(n)[None, :, None],
            "count": b * n,
        }


def test_symbolic_sizes_become_dims() -> None:
    batch, seq = torch.export.Dim("batch", min=2, max=9), torch.export.Dim("seq", min=3, max=50)
    made = imported(Sizes(), torch.randn(3, 7, 4), dynamic_shapes={"x": {0: batch, 1: seq}})
    assert sorted((d.lo, d.hi) for d in made.graph.dims()) == [(2, 9), (3, 50)]
    for shape in ((2, 3, 4), (5, 11, 4)):
        x = torch.randn(*shape)
        wanted = Sizes()(x)
        got = made.interpret({"x": x.numpy()})
        assert got.pop("count") == wanted.pop("count")
        for name, array in got.items():
            compare(array, wanted[name], 2e-5, name)


def test_derived_sizes() -> None:
    half = torch.export.Dim("half", min=2, max=9)

    class Pairs(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.view(-1, 2).sum(1)

    made = imported(Pairs(), torch.randn(8), dynamic_shapes={"x": {0: 2 * half}})
    x = torch.randn(12)
    compare_all(made, (x,), Pairs()(x))


def test_attention_over_any_length_compiled() -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.joined = nn.Linear(8, 24)

        def forward(self, x: Any) -> Any:
            q, k, v = self.joined(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    seq = torch.export.Dim("seq", min=2, max=64)
    model = Attention()
    made = imported(model, torch.randn(1, 5, 8), dynamic_shapes={"x": {1: seq}})
    compiled = te.optimize(made.graph)
    assert len(compiled.program.kernels) == 2, "one for the product, one for attention"
    for n in (2, 13):
        x = torch.randn(1, n, 8)
        got = compiled(**made.arrays({"x": x.numpy()}))
        compare(got, model(x).detach(), 1e-5, f"{n}")


def test_weights_share_memory_with_the_module() -> None:
    model = nn.Linear(3, 2)
    made = imported(model, torch.randn(4, 3))
    with torch.no_grad():
        model.weight.fill_(5.0)
    np.testing.assert_array_equal(made.weights["weight"], 5.0)


def test_mutation_is_written_as_a_value() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            self.seen.add_(x.sum(0))
            y = x.clone()
            y[:, 0] = 7.0
            y.mul_(2)
            return y

    made = imported(Counting(), torch.ones(3, 2))
    got = made.interpret({"x": np.ones((3, 2), np.float32)})
    assert set(got) == {"seen", "output"}
    np.testing.assert_array_equal(got["seen"], [3, 3])
    np.testing.assert_array_equal(got["output"], [[14, 2]] * 3)


def test_results_are_named_by_their_place() -> None:
    class Nested(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"a": (x, x + 1), "b": [x * 2, None]}

    assert list(imported(Nested(), torch.ones(2)).outputs) == ["a_0", "a_1", "b_0"]


def test_constants_and_buffers() -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", torch.tensor(3.0), persistent=False)

        def forward(self, x: Any) -> Any:
            return x * self.scale + torch.tensor([1.0, 2.0])

    check(Constant(), torch.randn(3, 2))


def test_half_precision() -> None:
    check(nn.Sequential(nn.Linear(7, 5), nn.LayerNorm(5)).half(), torch.randn(3, 7).half(), tolerance=4e-3)


def test_what_is_no_exported_program_is_refused() -> None:
    with pytest.raises(InputError, match="is no exported program") as caught:
        from_torch(nn.Linear(2, 2))
    assert "torch.export.export" in caught.value.mend


def test_a_saved_program_is_refused(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="reading one may run code") as caught:
        from_torch(tmp_path / "model.pt2")
    assert "torch.export.load" in caught.value.mend


def test_unsupported_operators_are_all_named() -> None:
    class Odd(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.linalg.svdvals(x).sum() + torch.special.bessel_j0(x).sum()

    with pytest.raises(GraphError, match="operators that are not supported") as caught:
        imported(Odd(), torch.randn(3, 3))
    assert "aten.special_bessel_j0.default" in caught.value.what
    assert "aten._linalg_svd.default" in caught.value.what or "aten.linalg_svdvals" in caught.value.what
    assert "test_importers_torch.py" in caught.value.where
    assert "torch.compile" in caught.value.mend


def test_a_refused_operator_says_where() -> None:
    class Long(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.sort(0)[0]

    with pytest.raises(GraphError, match="4096 elements would be sorted") as caught:
        imported(Long(), torch.randn(4096))
    assert "aten.sort" in caught.value.what
    assert "test_importers_torch.py:" in caught.value.where


def test_complex_tensors_are_refused() -> None:
    class Complex(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.view_as_real(torch.view_as_complex(x) * 1j)

    with pytest.raises(GraphError) as caught:
        imported(Complex(), torch.randn(3, 2))
    assert caught.value.mend


def test_no_operator_has_two_rows() -> None:
    with pytest.raises(ValueError, match="two rows"):
        op("exp")(lambda out, x: x)
    assert len(overloads()) > 0.95 * len(rows())
