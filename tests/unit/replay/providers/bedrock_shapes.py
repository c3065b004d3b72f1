"""botocore's service model as an oracle for Converse: its validator, and the patterns, words and bounds that it
reads but does not check."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.loaders  # type: ignore[import-untyped]
from botocore.model import ServiceModel  # type: ignore[import-untyped]
from botocore.validate import ParamValidator  # type: ignore[import-untyped]

_NAMED = "made-up.model-v1"


@functools.cache
def _input() -> Any:
    described = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    return ServiceModel(described).operation_model("Converse").input_shape


def bedrock_faults(request: Mapping[str, Any]) -> list[str]:
    """What the service model says against a request; empty when it takes it. `modelId` is the caller's."""
    found: list[str] = []
    body = _native({**request, "modelId": _NAMED}, _input(), "", found)
    report = ParamValidator().validate(body, _input())
    if report.has_errors():
        found.append(report.generate_report())
    return found


def _native(value: Any, shape: Any, where: str, found: list[str]) -> Any:
    """The value with bytes where the JSON has base64; what it breaks of the constraints goes to `found`."""
    found += [f"{where}: {fault}" for fault in _constraints(value, shape)]
    if shape.type_name == "structure" and isinstance(value, dict):
        if shape.is_document_type:
            return value
        return {
            key: _native(inner, shape.members[key], f"{where}.{key}", found) if key in shape.members else inner
            for key, inner in value.items()
        }
    if shape.type_name == "list" and isinstance(value, list):
        return [_native(inner, shape.member, f"{where}.{at}", found) for at, inner in enumerate(value)]
    if shape.type_name == "blob":
        try:
            return base64.b64decode(value, validate=True)
        except (ValueError, TypeError):
            found.append(f"{where}: no base64")
            return b"x"
    return value


def _constraints(value: Any, shape: Any) -> Iterator[str]:
    metadata = shape.metadata
    words = metadata.get("enum")
    if words and value not in words:
        yield f"{value!r} is none of {words}"
    if isinstance(value, str) and (pattern := metadata.get("pattern")) and not re.fullmatch(pattern, value):
        yield f"{value!r} is not of the pattern"
    if isinstance(value, bool) or shape.type_name == "blob":
        return
    size = len(value) if isinstance(value, str | list) else value if isinstance(value, int | float) else None
    if size is None:
        return
    if "min" in metadata and size < metadata["min"]:
        yield f"{size} is less than {metadata['min']}"
    if "max" in metadata and size > metadata["max"]:
        yield f"{size} is more than {metadata['max']}"
