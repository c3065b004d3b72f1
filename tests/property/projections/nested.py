"""Random ledgers in which sub-agents are started by calls, so that their rows stand inside other turns."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.property.ledgers import CALLS, EventDict, ledgers, orderly_ledgers


@st.composite
def nested_ledgers(draw: st.DrawFn) -> list[EventDict]:
    """Any events; those of sub-agents mostly name the call that started them."""
    parents = st.sampled_from((*CALLS[:-1], None))
    more = draw(st.lists(st.integers(0, 29), max_size=8))
    return [
        {**event, "agent_id": event.get("agent_id") or "sub1", "parent_tool_call_id": parent}
        if ("agent_id" in event or place in more) and (parent := draw(parents)) is not None
        else event
        for place, event in enumerate(draw(ledgers()))
    ]


any_ledger = ledgers() | nested_ledgers() | orderly_ledgers()
