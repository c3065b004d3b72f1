"""One judge a wire format; they read requests, never plans."""

import re
from typing import NamedTuple

from ledger.events import Json

_SURROGATE = re.compile("[\ud800-\udfff]")


class Violation(NamedTuple):
    """One rule broken at one place: `where` is a path into the request such as `messages.3.content.0`."""

    rule: str
    where: str
    message: str
    mend: str


def has_surrogates(value: Json) -> bool:
    """True when a string, a key or a value anywhere in it, holds a lone surrogate."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and _SURROGATE.search(item):
                return True
        elif isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False
