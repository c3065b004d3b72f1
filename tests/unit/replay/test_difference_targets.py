"""A captured request in every target's own keys against the ledger: message, byte and the event behind it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ledger.errors import BadInput
from replay import difference_from, replay, targets
from replay.fingerprint import canonical_bytes
from tests.unit.replay.talk import call, event, result, talk, text, user

TALK = talk(
    event("context", None, digest="d", system="You help."),
    user("first question"),
    text("A.", "m1"),
    call("c1", "m1"),
    result("c1", "out"),
    user("second question", "t2"),
)


def _changed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _changed(one, old, new) for key, one in value.items()}
    if isinstance(value, list):
        return [_changed(one, old, new) for one in value]
    return value.replace(old, new) if isinstance(value, str) else value


@pytest.mark.parametrize("provider", targets())
def test_what_was_changed_in_a_captured_request_is_found(provider: str) -> None:
    rendered = replay(TALK, "c", {"provider": provider, "model": "m"})
    captured = json.loads(json.dumps(rendered.request))
    assert difference_from(captured, rendered) is None

    for said, version in (("first question", 2), ("second question", 6)):
        number = next(at for at, one in enumerate(rendered.messages) if said in json.dumps(one))
        altered = {**captured, rendered.messages_key: list(captured[rendered.messages_key])}
        altered[rendered.messages_key][number] = _changed(
            captured[rendered.messages_key][number], said, "other"
        )
        found = difference_from(altered, rendered)
        assert found is not None
        ours = canonical_bytes(rendered.messages[number])
        assert (found.beside, found.message) == (None, number)
        assert ours[found.offset :].startswith(said.encode()), found
        assert version in found.right.versions

    shorter = {**captured, rendered.messages_key: captured[rendered.messages_key][:-1]}
    found = difference_from(shorter, rendered)
    assert found is not None
    assert (found.message, found.offset, found.left.excerpt) == (len(rendered.messages) - 1, 0, None)
    assert 6 in found.right.versions


@pytest.mark.parametrize("provider", targets())
def test_a_system_prompt_that_was_changed_is_found_where_the_target_has_it(provider: str) -> None:
    rendered = replay(TALK, "c", {"provider": provider, "model": "m"})
    if "You help." not in json.dumps(rendered.request):  # a target that leaves the prompt to its caller
        pytest.skip("the prompt is no part of this target's request")
    found = difference_from(_changed(rendered.request, "You help.", "You hinder."), rendered)
    assert found is not None
    assert found.beside in (None, rendered.system_key)
    assert found.message in (None, 0)
    if found.beside is not None:
        assert found.right.versions == [1]


@pytest.mark.parametrize("provider", targets())
def test_a_request_without_the_targets_list_of_messages_is_refused(provider: str) -> None:
    with pytest.raises(BadInput, match="no list"):
        difference_from({"other": []}, replay(TALK, "c", provider))
