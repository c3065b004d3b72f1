"""Ids and names for providers with a narrow alphabet: injective, and a function of the name alone.

A name that fits is kept. Any other becomes its clean beginning and a digest of the whole; a name that looks
like such a result is treated alike, so that no recorded name can equal a made one. Nothing depends on what
comes later.
"""

import hashlib
import re

_REFUSED = re.compile(r"[^A-Za-z0-9_-]+")
_FITS = re.compile(r"[A-Za-z0-9_-]+")
_MADE = re.compile(r".*-tl[0-9a-f]{20}")
_KEPT = 32


def narrow(name: str, limit: int = 200) -> str:
    """`name` in the alphabet `[A-Za-z0-9_-]`, at least one and at most `limit` characters (at least 64)."""
    if len(name) <= limit and _FITS.fullmatch(name) and not ("-tl" in name and _MADE.fullmatch(name)):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return f"{_REFUSED.sub('_', name)[:_KEPT]}-tl{digest}"
