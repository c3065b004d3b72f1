"""The AI SDK's own schema of ModelMessages, by version: faults of a request as texts.

`ai_sdk_schemas.json` is `z.toJSONSchema(z.array(modelMessageSchema))` of ai 5.0.277, 6.0.326 and 7.0.173
(Apache-2.0): closed, and without what JSON cannot spell (`URL` objects, byte arrays).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

_SCHEMAS = json.loads(Path(__file__).with_name("ai_sdk_schemas.json").read_text("utf-8"))
VALIDATORS = {version: Draft202012Validator(schema) for version, schema in _SCHEMAS.items()}
_KEYS = {
    "messages", "system", "instructions", "allowSystemInMessages", "model", "tools", "providerOptions",
    "temperature", "topP", "maxOutputTokens", "toolChoice",
}  # fmt: skip


def ai_sdk_faults(request: Mapping[str, Any], version: str | None = None) -> list[str]:
    """What a version's schema finds; without a version the least that any of them finds."""
    if version is None:
        return min((ai_sdk_faults(request, one) for one in VALIDATORS), key=len)
    faults = [f"unknown key {name}" for name in request if name not in _KEYS]
    choice = request.get("toolChoice", "auto")
    named = isinstance(choice, dict) and set(choice) == {"type", "toolName"} and choice["type"] == "tool"
    if not (named or choice in ("auto", "none", "required")):
        faults.append(f"toolChoice: {choice!r}")
    for error in VALIDATORS[version].iter_errors(request["messages"]):
        faults.append(f"{list(error.absolute_path)}: {error.message[:200]}")
    return faults
