"""The AI SDK's own schema of UIMessages, by version: faults of a list of messages as texts.

`ui_message_schemas.json` is the JSON Schema of `uiMessagesSchema`, by which `validateUIMessages` goes, of ai
5.0.277, 6.0.326 and 7.0.173 (Apache-2.0): closed from version 6 on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

_SCHEMAS = json.loads(Path(__file__).with_name("ui_message_schemas.json").read_text("utf-8"))
VALIDATORS = {version: Draft7Validator(schema) for version, schema in _SCHEMAS.items()}


def ui_message_faults(messages: Sequence[Any]) -> list[str]:
    """What the schema of any version finds, and ids that are used twice."""
    faults = []
    for version, validator in VALIDATORS.items():
        for error in validator.iter_errors([*messages]):
            faults.append(f"{version} {list(error.absolute_path)}: {error.message[:200]}")
    faults += [f"empty: {one['id']}" for one in messages if not one["parts"]]
    names = [one["id"] for one in messages]
    calls = [part["toolCallId"] for one in messages for part in one["parts"] if "toolCallId" in part]
    return faults + [
        f"twice: {one}" for ids in (names, calls) for one in sorted(set(ids)) if ids.count(one) > 1
    ]
