"""One judge a wire format; they read requests, never plans."""

from typing import NamedTuple


class Violation(NamedTuple):
    """One rule broken at one place: `where` is a path into the request such as `messages.3.content.0`."""

    rule: str
    where: str
    message: str
    mend: str
