"""Whatever JSON is judged, by every judge: rules of its table at places, and never an exception."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.providers.violations import JUDGES, Violation, violations

NAMES = (
    "role", "content", "type", "text", "id", "name", "tool_calls", "tool_call_id", "tool_use_id", "function",
    "arguments", "input", "thinking", "signature", "source", "tools", "system", "image_url", "is_error",
    "custom",
)  # fmt: skip
WORDS = (
    "user", "assistant", "tool", "system", "text", "thinking", "tool_use", "tool_result", "function", "image",
    "enabled", "server_tool_use", "", " ", "c1", "\ud800",
)  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=20,
)
messages = st.lists(
    values
    | st.fixed_dictionaries(
        {"role": st.sampled_from(("user", "assistant", "tool", "system")) | values, "content": values},
        optional=dict.fromkeys(("tool_calls", "tool_call_id", "name", "reasoning_content"), values),
    ),
    max_size=4,
)
requests = st.fixed_dictionaries(
    {"messages": messages | values},
    optional=dict.fromkeys(("system", "tools", "thinking", "tool_choice", "model"), values),
)


@pytest.mark.parametrize("provider", sorted(JUDGES))
@given(request=requests, sendable=st.booleans())
def test_any_request_is_judged(provider: str, request: dict[str, Any], sendable: bool) -> None:
    found = violations({"provider": provider, "model": "made-up"}, request, sendable=sendable)
    assert all(isinstance(one, Violation) and one.rule and one.where and one.mend for one in found)
    if not isinstance(request["messages"], list):
        assert found
