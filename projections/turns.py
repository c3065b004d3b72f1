"""Turns as messages: a turn's steps folded into one (DESIGN.md 6, `show --turns`; specs/maka.md 3.6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ledger.events import Json, JsonObject


def turn_messages(rows: Iterable[JsonObject]) -> list[JsonObject]:
    """The rows with the assistant rows of each turn (of each lane) as one `assistant` row.

    It stands where the first of them stood. Its texts and thinking are those of the steps in order, texts
    joined by a blank line, empty ones passed over; `id` and `step_id` are the first step's, `at`, `model`
    and `finish_reason` the last one's, `step_ids` names them all. Superseded attempts stay rows of their
    own. Tool rows keep their place after it; user rows, notes and the turn row are as they were.
    """
    shown: list[JsonObject] = []
    messages: dict[tuple[Json, Json], JsonObject] = {}
    for row in rows:
        if row["row"] != "assistant" or row["status"] == "superseded":
            shown.append(row)
            continue
        key = (row["turn_id"], row["agent_id"])
        message = messages.get(key)
        if message is None:
            message = messages[key] = {**row, "step_ids": [row["step_id"]]}
            message["texts"] = [row["text"]] if row["text"] else []
            shown.append(message)
        else:
            _join(message, row)
    for message in messages.values():
        message["text"] = "\n\n".join(cast("list[str]", message.pop("texts")))
    return shown


def _join(message: JsonObject, row: JsonObject) -> None:
    if row["text"]:
        cast("list[Json]", message["texts"]).append(row["text"])
    message["thinking"] = cast("list[Json]", message["thinking"]) + cast("list[Json]", row["thinking"])
    cast("list[Json]", message["step_ids"]).append(row["step_id"])
    for name in ("at", "model", "provider", "finish_reason"):
        if row[name] is not None:
            message[name] = row[name]
    if row["status"] == "partial":
        message["status"] = "partial"
    message["usage"] = _sum(message["usage"], row["usage"])
    message["duration_ms"] = _added(message["duration_ms"], row["duration_ms"])
    message["hidden"] = bool(message["hidden"] and row["hidden"])
    message["retracted"] = bool(message["retracted"] and row["retracted"])
    versions, more = cast("list[int]", message["versions"]), cast("list[int]", row["versions"])
    message["versions"] = [min(versions[0], more[0]), max(versions[1], more[1])]
    for name in ("hidden_versions", "retracted_versions"):
        if name in row:
            message[name] = cast("list[Json]", message.get(name, [])) + cast("list[Json]", row[name])


def _sum(left: Json, right: Json) -> Json:
    if not isinstance(left, dict) or not isinstance(right, dict):
        return right if isinstance(right, dict) else left
    return {name: _added(left.get(name), right.get(name)) for name in {**left, **right}}


def _added(left: Json, right: Json) -> Json:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left + right
    return right if isinstance(right, int | float) else left
