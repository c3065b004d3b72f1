"""Citations as they stand on a text that goes back by its id: those with all of their fields and no more."""

from ledger.events import Json, JsonObject
from replay.providers.wire_text import is_clean

_PLACES = {"start_index": int, "end_index": int}
_FIELDS: dict[str, dict[str, type]] = {
    "url_citation": {"url": str, "title": str, **_PLACES},
    "file_citation": {"file_id": str, "filename": str, "index": int},
    "container_file_citation": {"container_id": str, "file_id": str, "filename": str, **_PLACES},
    "file_path": {"file_id": str, "index": int},
}


def annotations(metadata: Json) -> list[Json]:
    """The citations that were recorded with a text, as the provider gave them."""
    given = metadata.get("annotations") if isinstance(metadata, dict) else None
    return [one for one in given if isinstance(one, dict) and _is_whole(one)] if isinstance(given, list) else []


def _is_whole(citation: JsonObject) -> bool:
    kind = citation.get("type")
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None or set(citation) != {"type", *fields} or not is_clean(citation):
        return False
    return all(type(citation[name]) is held for name, held in fields.items())
