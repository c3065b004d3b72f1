"""What the AI SDK says beside its parts: the provider's own metadata, and usage that an app adds."""

from __future__ import annotations

from collections.abc import Mapping

from ledger.events import Json, JsonObject
from ledger.intake.token_counts import ai_sdk_usage

_NO_PROVIDERS = frozenset({"pydantic_ai", "gateway", "ai", "custom"})
_NAMES = {"google": "gemini"}
_SIGNATURES = (("anthropic", "signature"), ("bedrock", "signature"), ("pydantic_ai", "signature"))
_REDACTED = (
    ("anthropic", "redactedData"),
    ("bedrock", "redactedContent"),
    ("bedrock", "redactedData"),
    ("pydantic_ai", "redacted_data"),
)


def merged(before: JsonObject, record: Mapping[str, Json]) -> JsonObject:
    """The provider metadata of a part so far, with what this record adds: later values count, field by
    field."""
    told = record.get("providerMetadata")
    if not isinstance(told, dict):
        return before
    together = dict(before)
    for namespace, values in told.items():
        known = together.get(namespace)
        together[namespace] = (
            {**known, **values} if isinstance(known, dict) and isinstance(values, dict) else values
        )
    return together


def signature_of(metadata: Mapping[str, Json]) -> str | None:
    """The signature of a reasoning part (specs/providers.md V7)."""
    return _named(metadata, _SIGNATURES)


def redacted_of(metadata: Mapping[str, Json]) -> str | None:
    """The sealed data of a redacted reasoning part."""
    return _named(metadata, _REDACTED)


def provider_of(metadata: Mapping[str, Json]) -> str | None:
    """The provider that metadata is from, by its namespace and as the ledger calls it."""
    names = [
        name for name, values in metadata.items() if isinstance(values, dict) and name not in _NO_PROVIDERS
    ]
    return _NAMES.get(names[0], names[0]) if names else None


def app_usage(metadata: Json) -> JsonObject | None:
    """Token counts of the step in what an app adds to its messages; a total of the turn is none."""
    if not isinstance(metadata, dict):
        return None
    for name, value in (("", metadata), *metadata.items()):
        if isinstance(value, dict) and "total" not in name.lower() and (usage := ai_sdk_usage(value)):
            return usage
    return None


def app_model(metadata: Json) -> str | None:
    """The model's name in what an app adds to its messages."""
    if isinstance(metadata, dict):
        for name in ("model", "modelId"):
            if isinstance(model := metadata.get(name), str) and model:
                return model
    return None


def total_usage(record: Mapping[str, Json]) -> JsonObject | None:
    """Token counts of the turn in a `finish`."""
    told = record.get("totalUsage", record.get("usage"))
    if told is None and isinstance(metadata := record.get("messageMetadata"), dict):
        told = metadata.get("totalUsage")
    return ai_sdk_usage(told) if isinstance(told, dict) else None


def _named(metadata: Mapping[str, Json], places: tuple[tuple[str, str], ...]) -> str | None:
    for namespace, field in places:
        values = metadata.get(namespace)
        if isinstance(values, dict) and isinstance(value := values.get(field), str) and value:
            return value
    return None
