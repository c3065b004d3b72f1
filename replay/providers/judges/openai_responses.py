"""Judges a request to the Responses API: each item's shape, ids, then calls against outputs and reasoning
against what follows it."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ledger.events import Json, JsonObject
from replay.options import Target
from replay.providers.judges import Violation, has_surrogates
from replay.providers.judges.openai_responses_shape import (
    APPROVAL,
    LOCAL_OUTPUT,
    OUTPUT_OF,
    REFERENCE,
    kind_of,
    role_of,
    shape_faults,
    tool_faults,
)
from replay.providers.rules.openai_responses import RULES

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PREFIXES = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "web_search_call": "ws_",
    "file_search_call": "fs_",
    "computer_call": "cu_",
    "code_interpreter_call": "ci_",
}


def judge(
    target: Target,  # noqa: ARG001 - one set of rules for all models
    request: Mapping[str, Json],
    sendable: bool,
    original: Sequence[Sequence[JsonObject]] | None,
) -> list[Violation]:
    """Every rule that the request breaks; see `replay.providers.violations`."""
    return list(_judge(request, sendable, original))


def _found(rule: str, where: str, message: str) -> Violation:
    return Violation(rule, where, message, RULES[rule].mend)


def _judge(
    request: Mapping[str, Json], sendable: bool, original: Sequence[Sequence[JsonObject]] | None
) -> Iterator[Violation]:
    if request.get("previous_response_id") is not None and request.get("conversation") is not None:
        yield _found("R11", "previous_response_id", "a chain beside a conversation")
    given = request.get("input")
    if isinstance(given, str) and given:
        given = [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list):
        yield _found("R17" if not given else "S2", "input", "input is a list of items")
        return
    items: list[JsonObject] = []
    for at, item in enumerate(given):
        if isinstance(item, dict):
            items.append(item)
        else:
            items.append({"type": "?"})
            yield _found("S2", f"input.{at}", "an item is an object")
    for at, item in enumerate(items):
        for fault in shape_faults(item, f"input.{at}"):
            yield _found(*fault)
    yield from _ids(items)
    yield from _pairs(items, sendable, chained=request.get("previous_response_id") is not None)
    yield from _reasoning(items, sendable)
    yield from _kept(items, request.get("store"))
    if original is not None:
        yield from _units(items, original)
    if sendable:
        yield from _end(items)
    for fault in tool_faults(request.get("tools")):
        yield _found(*fault)
    if has_surrogates(dict(request)):
        yield _found("S1", "input", "a lone surrogate")


def _ids(items: Sequence[JsonObject]) -> Iterator[Violation]:
    seen: set[str] = set()
    for at, item in enumerate(items):
        name, kind = item.get("id"), kind_of(item)
        if "id" in item and name is not None and kind != LOCAL_OUTPUT:
            if not isinstance(name, str) or not _ID.fullmatch(name):
                yield _found("R9", f"input.{at}.id", f"the id {name!r}")
            elif not name.startswith(_PREFIXES.get(kind, "")):
                yield _found(
                    "R9", f"input.{at}.id", f"the id {name!r} of a {kind} begins with {_PREFIXES[kind]!r}"
                )
            elif name in seen:
                yield _found("R9", f"input.{at}.id", f"the id {name!r} stands twice")
            seen.add(str(name))
        call_id = item.get("call_id")
        if call_id is None and kind.startswith("tool_search_"):
            continue  # the server's own search
        if "call_id" in item and (not isinstance(call_id, str) or not 0 < len(call_id) <= 64):
            yield _found("R9", f"input.{at}.call_id", f"the call_id {call_id!r}")


def _pairs(items: Sequence[JsonObject], sendable: bool, *, chained: bool) -> Iterator[Violation]:
    """Every call has its output behind it and every output its call before it. In what is only a
    conversation's start (X8) the model's last items may be open."""
    last = len(items)
    if not sendable:
        for given in (True, False):
            while last and _is_given(items[last - 1]) is given:
                last -= 1
    waiting: dict[tuple[str, str], int] = {}
    asked: dict[str, set[str]] = {}
    local: dict[str, str] = {}  # item ids of local shell calls, whose outputs may name either
    approvals: set[str] = set()
    for at, item in enumerate(items):
        kind = kind_of(item)
        call_id = str(item.get("id" if kind == LOCAL_OUTPUT else "call_id"))
        if kind == "mcp_approval_request":
            approvals.add(str(item.get("id")))
        elif kind == APPROVAL and not chained and item.get("approval_request_id") not in approvals:
            yield _found("R2", f"input.{at}", "no approval was asked for under this id")
        if kind in OUTPUT_OF:
            if (OUTPUT_OF[kind], call_id) in waiting:
                yield _found(
                    "R1", f"input.{waiting[OUTPUT_OF[kind], call_id]}", f"another call is {call_id} too"
                )
            waiting[OUTPUT_OF[kind], call_id] = at
            if kind == "local_shell_call":
                local[str(item.get("id"))] = call_id
            asked.setdefault(call_id, set()).add(OUTPUT_OF[kind])
        elif kind in OUTPUT_OF.values():
            if kind == LOCAL_OUTPUT:
                call_id = local.get(call_id, call_id)
            if (kind, call_id) in waiting:
                del waiting[kind, call_id]
            elif asked.get(call_id, {kind}) != {kind}:
                yield _found("R3", f"input.{at}", f"the call {call_id} wants another type of output")
            elif not chained:
                yield _found("R2", f"input.{at}", f"no call {call_id} is waiting for this output")
    for (_, call_id), at in waiting.items():
        if sendable or at < last:
            yield _found("R1", f"input.{at}", f"the call {call_id} has no output")


def _is_given(item: JsonObject) -> bool:
    """Whether an item was given to the model, and not made by it."""
    return kind_of(item) in (APPROVAL, *OUTPUT_OF.values()) or role_of(item) in ("user", "system", "developer")


def _reasoning(items: Sequence[JsonObject], sendable: bool) -> Iterator[Violation]:
    for at, item in enumerate(items):
        if kind_of(item) != "reasoning":
            continue
        behind = next((one for one in items[at + 1 :] if kind_of(one) != "reasoning"), None)
        if (behind is None and sendable) or (behind is not None and _is_given(behind)):
            yield _found("R4", f"input.{at}", "nothing that it was produced with follows")


def _kept(items: Sequence[JsonObject], store: Json) -> Iterator[Violation]:
    for at, item in enumerate(items):
        kind = kind_of(item)
        if store is False and kind == REFERENCE:
            yield _found("R7", f"input.{at}", "an item that is not kept")
        sealed = item.get("encrypted_content")
        if kind == "reasoning" and not sealed and (store is False or item.get("id") is None):
            yield _found("R7", f"input.{at}", "reasoning that is neither kept nor sealed")
        if kind == "compaction" and (not isinstance(sealed, str) or not sealed):
            yield _found("R12", f"input.{at}", "a compaction without its encrypted_content")


def _units(items: Sequence[JsonObject], original: Sequence[Sequence[JsonObject]]) -> Iterator[Violation]:
    """What goes by its id has, right before it, the reasoning that its response has there."""
    before = {
        str(item["id"]): str(response[at - 1]["id"])
        for response in original
        for at, item in enumerate(response)
        if at and item.get("id") and kind_of(response[at - 1]) == "reasoning" and response[at - 1].get("id")
    }
    for at, item in enumerate(items):
        wanted = before.get(str(item.get("id")))
        if wanted is not None and (not at or items[at - 1].get("id") != wanted):
            yield _found("R5", f"input.{at}", f"{item.get('id')} without {wanted} right before it")


def _end(items: Sequence[JsonObject]) -> Iterator[Violation]:
    if not items:
        yield _found("R17", "input", "it is empty")
        return
    last = next((item for item in reversed(items) if role_of(item) not in ("system", "developer")), None)
    if last is None or not _is_given(last):
        yield _found("X5", f"input.{len(items) - 1}", "nothing to answer")
