"""What providers' JSON readers refuse in strings: lone surrogates, sent as U+FFFD."""

import re

from ledger.events import Json

_LONE = re.compile("[\ud800-\udfff]")


def is_clean(value: Json) -> bool:
    """True when no string in a JSON value, a key included, holds a lone surrogate."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not (key.isascii() or _is_whole(key)):
                return False
            if isinstance(item, str):  # most items: spares the call
                if not (item.isascii() or _is_whole(item)):
                    return False
            elif isinstance(item, dict | list) and not is_clean(item):
                return False
        return True
    if isinstance(value, list):
        return all(map(is_clean, value))
    return not isinstance(value, str) or value.isascii() or _is_whole(value)


def _is_whole(text: str) -> bool:
    try:
        text.encode("utf-16")  # sooner done than a search, or than UTF-8
    except UnicodeEncodeError:
        return False
    return True


def cleaned_text(text: str) -> str:
    """`text` with U+FFFD for every lone surrogate."""
    return text if text.isascii() or _is_whole(text) else _LONE.sub("\ufffd", text)


def cleaned(value: Json) -> Json:
    """A JSON value with U+FFFD for every lone surrogate; keys that become equal keep the last value."""
    if isinstance(value, str):
        return cleaned_text(value)
    if isinstance(value, dict):
        return {cleaned_text(key): cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    return value
