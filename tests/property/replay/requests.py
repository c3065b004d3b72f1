"""How a request that went out is compared with a later one."""

from __future__ import annotations

import json

from replay import Result


def opened(found: Result) -> bytes:
    """The request up to where it may go on: without the brackets that close its last message, and without
    stubs of tools that nothing declares, which come with their calls."""
    declared = (found.plan.context or {}).get("tools")
    text = json.dumps([found.system, found.extra.get("tools") if declared else None, found.messages])
    return text.rstrip("]}").encode("utf-8", "surrogatepass")


def is_open_ended(found: Result) -> bool:
    """A request that goes on with a tool of the provider's own: when it never ends, its call cannot stay."""
    last = found.plan.steps[-1] if found.plan.steps else None
    return last is not None and any(getattr(block, "hosted", False) for block in last.blocks)
