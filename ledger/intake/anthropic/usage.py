"""Token counts as Anthropic reports them, as the ledger keeps them (DESIGN.md 3.2)."""

from collections.abc import Mapping

from ledger.events import Json, JsonObject

_COUNTS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}


def usage_of(reported: Mapping[str, Json]) -> JsonObject | None:
    """The disjoint counts, with what was `reported` beside them; None where nothing was.

    `input_tokens` leaves cache reads and writes out already; `thinking_tokens` are part of the output.
    """
    if not reported:
        return None
    usage: JsonObject = {
        ours: reported[theirs] for theirs, ours in _COUNTS.items() if _is_count(reported.get(theirs))
    }
    details = reported.get("output_tokens_details")
    if isinstance(details, dict) and _is_count(details.get("thinking_tokens")):
        usage["reasoning"] = details["thinking_tokens"]
    usage["reported"] = dict(reported)
    return usage


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
