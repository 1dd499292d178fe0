"""The table of all operators: one row for each, under its domain and name."""

from __future__ import annotations

from tang_egg.importers import (
    onnx_contract,
    onnx_control,
    onnx_elementwise,
    onnx_index,
    onnx_norm,
    onnx_pad,
    onnx_quantize,
    onnx_recurrent,
    onnx_reduce,
    onnx_resize,
    onnx_sample,
    onnx_shape,
    onnx_signal,
    onnx_training,
    onnx_window,
)
from tang_egg.importers.onnx_call import Table

TABLE = Table()
for _module in (
    onnx_contract,
    onnx_control,
    onnx_elementwise,
    onnx_index,
    onnx_norm,
    onnx_pad,
    onnx_quantize,
    onnx_recurrent,
    onnx_reduce,
    onnx_resize,
    onnx_sample,
    onnx_shape,
    onnx_signal,
    onnx_training,
    onnx_window,
):
    TABLE.update(_module.OPERATORS)
