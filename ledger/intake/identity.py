"""Names that importing again finds again: ids made from where a record stands, and ids kept or replaced."""

import hashlib

from ledger.admission import check_id
from ledger.errors import InvalidEvent
from ledger.events import MAX_ID_LENGTH
from ledger.intake.mending import Mended


def made_id(source_format: str, session: str, record: str, block: str) -> str:
    """`{format}:` + 32 hex digits of SHA-256(format 00 session 00 record 00 block) (DESIGN.md 4)."""
    named = "\0".join((source_format, session, record, block))
    return f"{source_format}:{hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def is_id(value: object, *, may_be_empty: bool = False) -> bool:
    """True when `value` is an id: 1-200 characters, no control characters, no surrogates (DESIGN.md 3.1)."""
    try:
        check_id("id", value, may_be_empty=may_be_empty)
    except InvalidEvent:
        return False
    return True


def kept_id(value: str, *, may_be_empty: bool = False) -> str:
    """`value` where it can stand as an id, else `sha256:` + 32 hex digits of its digest, marked as mended."""
    if (value.isprintable() and 0 < len(value) <= MAX_ID_LENGTH) or is_id(value, may_be_empty=may_be_empty):
        return value  # (the common case first: what is printable has no controls and no surrogates)
    return Mended(f"sha256:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}")
