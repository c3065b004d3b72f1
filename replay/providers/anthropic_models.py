"""What Claude models take, told by their names, wherever they are served (specs/providers.md 1.2, 1.3).

Nothing is held against a model whose name tells no version, but that its thinking may be bound.
"""

import re

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.content import Report

_MODEL = re.compile(r"claude-(?:(instant|opus|sonnet|haiku|fable|mythos)-)?(\d{1,2})(?:[-.](\d{1,2})(?!\d))?")
_FIRST_BOUND = (5, 1)
_FIRST_ADAPTIVE = (4, 7)
_FIRST_ALWAYS_ON = (5, 5)
_NEVER_OFF = ("fable", "mythos")


def _told(model: str | None) -> tuple[str, tuple[int, int]] | None:
    """A model's line and version; None where its name does not tell them."""
    if "claude-mythos-preview" in (model or ""):
        return "mythos", (5, 0)
    match = _MODEL.search(model or "")
    return None if match is None else (match[1] or "", (int(match[2]), int(match[3] or 0)))


def binds_prefix(target: Target) -> bool:
    """True when the model binds thinking to all that was sent before it (specs/providers.md 1.3).

    Known models below 5.1 do not; a model that cannot be told is taken to.
    """
    if target.binds_prefix is not None:
        return target.binds_prefix
    told = _told(target.model)
    return told is None or told[1] >= _FIRST_BOUND


def only_adaptive(model: str | None) -> bool:
    """True for a model that takes no manual thinking, and no temperature: those from 4.7 on."""
    told = _told(model)
    return told is not None and told[1] >= _FIRST_ADAPTIVE


def taken(config: JsonObject, model: str | None) -> JsonObject:
    """A thinking configuration in a type that the model takes (S3); the rest of it stays.

    Manual thinking becomes adaptive where there is no other. What cannot be switched off stays adaptive, or,
    for the one line that has it, thinks between tools only.
    """
    told = _told(model)
    if told is None:
        return config
    line, version = told
    kind = config.get("type")
    rest = {key: value for key, value in config.items() if key not in ("type", "budget_tokens")}
    if kind == "enabled" and version >= _FIRST_ADAPTIVE:
        return {"type": "adaptive", **rest}
    if kind == "disabled" and line == "sonnet" and version >= _FIRST_ALWAYS_ON:
        return {"type": "between_tools", **rest}
    if kind == "disabled" and (line in _NEVER_OFF or (line == "opus" and version >= _FIRST_ALWAYS_ON)):
        return {"type": "adaptive", **rest}
    return config


def asked_thinking(config: JsonObject | None, model: str | None, report: Report) -> JsonObject | None:
    """The target's thinking configuration as the model takes it (`taken`), a change of it reported."""
    if config is None:
        return None
    sent = taken(config, model)
    if sent != config:
        report("thinking_mode_changed", asked=config.get("type"), sent=sent["type"])
    return sent


def binding_of(config: JsonObject | None) -> Json:
    """The block binding that a thinking configuration asks for, beside adaptive thinking only (A16)."""
    return config.get("block_binding") if config is not None and config.get("type") == "adaptive" else None
