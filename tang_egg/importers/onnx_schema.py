"""What the package onnx knows of an operator: versions, the types it takes, a function that gives its meaning."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from tang_egg.affine import Affine
from tang_egg.importers.onnx_call import Call
from tang_egg.importers.onnx_file import package
from tang_egg.importers.onnx_value import NUMBERS, Forms, Items, Known, Optional_, Unsupported, Value
from tang_egg.traced import Traced

TENSORS = {
    "f32": "float", "f64": "double", "f16": "float16", "bf16": "bfloat16", "bool": "bool", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip


@lru_cache(maxsize=1 << 12)
def find_schema(domain: str, op: str, version: int) -> Any:
    """The newest version of an operator that an operator set has, or None."""
    onnx = package()
    if not 0 < version < 1 << 20:
        return None
    try:
        return onnx.defs.get_schema(op, version, domain)
    except (onnx.defs.SchemaError, RuntimeError, ValueError, TypeError):
        return None


def check_types(schema: Any, call: Call) -> None:
    """Raises InputError for a number of inputs or outputs, an attribute or a type that the operator does not take."""
    inputs, outputs = len(call.proto.input), len(call.proto.output)
    if not schema.min_input <= inputs <= schema.max_input:
        raise call.wrong(f"the operator has {inputs} inputs, not {schema.min_input} to {schema.max_input}")
    if not schema.min_output <= outputs <= schema.max_output:
        raise call.wrong(f"the operator has {outputs} outputs, not {schema.min_output} to {schema.max_output}")
    for name in call.attributes:
        if name not in schema.attributes:
            raise call.wrong(f"the operator has no attribute '{name}'")
    for name, attribute in schema.attributes.items():
        if attribute.required and name not in call.attributes:
            raise call.wrong(f"the attribute '{name}' is missing")
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    met: dict[str, str] = {}
    for n, value in enumerate(call.values):
        if not isinstance(value, (Known, Forms, Traced)):
            continue
        formal = schema.inputs[min(n, len(schema.inputs) - 1)]
        kind = f"tensor({TENSORS[value.dtype]})"
        parameter = formal.type_str
        if parameter in allowed and formal.is_homogeneous and met.setdefault(parameter, kind) != kind:
            raise call.wrong(f"input {n} is a {kind} beside a {met[parameter]}; both are to be of one type")
        takes = allowed.get(parameter, {parameter})
        if kind not in takes and not any(t.startswith(("seq", "optional", "map")) for t in takes):
            raise call.wrong(f"input {n} is a {kind}, which the operator does not take")


def function_of(schema: Any, call: Call, version: int) -> Any:
    """The function whose body is the operator's meaning for a call. Raises Unsupported where there is none."""
    onnx = package()
    try:
        if schema.has_context_dependent_function:
            node = onnx.NodeProto()
            node.CopyFrom(call.proto)
            del node.attribute[:]
            for name, a in call.attributes.items():
                added = node.attribute.add()
                added.CopyFrom(a)
                added.name = name
            types = [_type(onnx, v).SerializeToString() for v in call.values]
            text = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
        else:
            text = schema.get_function_with_opset_version(version)
    except (RuntimeError, ValueError, TypeError, IndexError, onnx.defs.SchemaError) as error:
        raise Unsupported(f"the operator, in this use ({' '.join(str(error).split())[:80]})") from None
    function = onnx.FunctionProto()
    if isinstance(text, bytes) and text:
        function.ParseFromString(text)
    elif isinstance(text, onnx.FunctionProto):
        function = text
    if not function.node:
        raise Unsupported("the operator, in this use")
    return function


def with_defaults(schema: Any, call: Call) -> Call:
    """The call with the attributes that it leaves out, as the operator declares them."""
    attributes = {
        name: a.default_value for name, a in schema.attributes.items() if a.default_value.type and not a.required
    }
    return replace(call, attributes={**attributes, **call.attributes})


def _type(onnx: Any, value: Value) -> Any:
    """The type of a value as a protocol buffer."""
    found = onnx.TypeProto()
    if isinstance(value, (Known, Forms, Traced)):
        found.tensor_type.elem_type = NUMBERS[value.dtype]
        found.tensor_type.shape.SetInParent()
        for size in value.extents:
            _dim(found.tensor_type.shape.dim.add(), size)
    elif isinstance(value, Items):
        first = value.values[0] if value.values else None
        found.sequence_type.elem_type.CopyFrom(_type(onnx, first))
    elif isinstance(value, Optional_):
        found.optional_type.elem_type.CopyFrom(_type(onnx, value.value))
    return found


def _dim(dim: Any, size: Affine) -> None:
    if size.value is not None:
        dim.dim_value = size.value
    else:
        dim.dim_param = repr(size)
