"""The report as JSON: every field of the data model, nothing cut."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from tang_egg.report_model import Report

FORMAT = 1
"""Raised when a field changes its meaning or disappears."""

_PAIRS = {"seconds", "errors", "dims", "indices", "kernel_seconds"}
"""Fields that hold (name, value) pairs where they hold tuples: objects in JSON."""


def render_json(report: Report) -> str:
    """The report as one JSON object, indented."""
    return json.dumps(report_data(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render_data(value: object) -> str:
    """Records, tuples and plain data as JSON, indented."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def report_data(report: Report) -> dict[str, Any]:
    """The report as plain data, with `format` and the predicted seconds of all kernels."""
    data = _plain(report)
    assert isinstance(data, dict)
    return {"format": FORMAT, **data, "predicted": report.predicted}


def _plain(value: Any, field: str = "") -> Any:
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name), f.name) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        if field in _PAIRS and all(isinstance(x, tuple) for x in value):
            return {str(name): _plain(x) for name, x in value}
        return [_plain(x) for x in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value
