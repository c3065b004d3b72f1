"""`turnledger replay`: the request for the next model call, with what was mended beside the messages."""

import json
from collections.abc import Iterator

import click

from ledger.events import Json, JsonObject
from replay import Diagnostic, Options, Result, Target, replay
from replay.options import RUNGS
from turnledger.cli.front import Failure, Front, emit, existing, json_option, printable

SHOWN = 400  # characters of one part that people see; --json has all of it


@click.command("replay")
@click.argument("conversation")
@click.option(
    "--to", "provider", default="neutral", show_default=True, metavar="TARGET", help="Whose wire format."
)
@click.option("--model", help="The model that gets the request: only its own signed reasoning is sent.")
@click.option("--at", type=click.IntRange(0), metavar="VERSION", help="As it was at that version.")
@click.option("--agent", "agent_id", metavar="ID", help="The lane of a sub-agent; the main agent otherwise.")
@click.option(
    "--unanswered-calls",
    type=click.Choice(["synthesize", "drop"]),
    default="synthesize",
    show_default=True,
    help="Answer a call without a result by a stand-in, or leave the call out.",
)
@click.option(
    "--late-results",
    type=click.Choice(["append", "hoist"]),
    default="append",
    show_default=True,
    help="Results that came after the next step: as user text where they arrived, or at their call.",
)
@click.option(
    "--pending-calls",
    type=click.Choice(["refuse", "close"]),
    default="refuse",
    show_default=True,
    help="A call that may still be running: the request waits for it, or it counts as unanswered.",
)
@click.option(
    "--rung",
    type=click.Choice(RUNGS),
    default="native",
    show_default=True,
    help="A step of the ladder: what to leave out when the provider refuses the request.",
)
@click.option("--account", metavar="NAME", help="Who sends the request: another account's state stays out.")
@click.option("--require-sendable", is_flag=True, help="Exit 1 when the request cannot be sent as it stands.")
@json_option
@click.pass_obj
def replay_(
    front: Front,
    conversation: str,
    provider: str,
    model: str | None,
    at: int | None,
    agent_id: str | None,
    unanswered_calls: str,
    late_results: str,
    pending_calls: str,
    rung: str,
    account: str | None,
    require_sendable: bool,
    as_json: bool,
) -> None:
    """Replay a CONVERSATION into the messages of a provider's request.

    What had to be left out, moved, renamed or mended stands beside the message it belongs to.
    """
    options = Options(
        unanswered_calls=unanswered_calls,  # type: ignore[arg-type]
        late_results=late_results,  # type: ignore[arg-type]
        pending_calls=pending_calls,  # type: ignore[arg-type]
        agent_id=agent_id,
    )
    with front.ledger() as ledger:
        existing(ledger, conversation)
        target = Target(provider, model, rung=rung, account=account)  # type: ignore[arg-type]
        answer = replay(ledger.read(conversation, upto=at), conversation, target, options)
    if as_json:
        emit(answer.as_json())
    else:
        for line in told(answer):
            click.echo(printable(line))
    if require_sendable and not answer.sendable:
        raise Failure(f"the request for {conversation} is not sendable: {why_not_sendable(answer)}")


def told(answer: Result) -> Iterator[str]:
    """The request for people: system, messages with their diagnostics beside them, then what is in none."""
    to = answer.target.provider + (f" {answer.target.model}" if answer.target.model else "")
    rung = "" if answer.target.rung == "native" else f", on the rung {answer.target.rung}"
    yield f"{answer.conversation_id} at version {answer.version}, for {to}{rung}"
    if answer.system:
        yield ""
        yield f"system: {_short(answer.system)}"
    unplaced = list(answer.diagnostics)
    for number, message in enumerate(answer.messages):
        versions = {version for part in answer.provenance[number] for version in part}
        yield ""
        yield f"{number} {message['role']}  (versions {_spans(sorted(versions))})"
        content = message["content"]
        for part in content if isinstance(content, list) else [content]:
            yield f"  {part_line(part)}"
        for one in [one for one in unplaced if one.version in versions]:
            unplaced.remove(one)
            yield f"  ! {diagnostic_line(one)}"
    if unplaced:
        yield ""
        yield "in no message:"
        for one in unplaced:
            yield f"  ! {diagnostic_line(one)}"
    yield ""
    if answer.sendable:
        yield f"sendable; {len(answer.messages)} messages, fingerprint {answer.fingerprint}"
    else:
        yield f"not sendable: {why_not_sendable(answer)}"


def why_not_sendable(answer: Result) -> str:
    """One line that says what the request waits for."""
    pending = [one for one in answer.diagnostics if one.code == "pending_tool_call"]
    if not answer.messages:
        return "there is no message yet"
    if pending:
        calls = ", ".join(str(one.detail.get("tool_call_id") or one.event_id) for one in pending)
        return f"these calls may still be running: {calls} (--pending-calls close gives them up)"
    return "the last message is the model's own; append what comes next"


def part_line(part: Json) -> str:
    """One part of a message on one line, whatever the wire format."""
    if not isinstance(part, dict):
        return _short(part)
    match part.get("type"):
        case "text":
            return _short(part.get("text"))
        case "thinking" | "redacted_thinking":
            sealed = "redacted" if part.get("redacted_data") or part.get("data") else "thinking"
            signed = ", signed" if part.get("signature") else ""
            return f"({sealed}{signed}) {_short(part.get('thinking') or part.get('text') or '')}".rstrip()
        case "tool_call" | "tool_use":
            name, call = part.get("tool_name") or part.get("name"), part.get("tool_call_id") or part.get("id")
            return f"-> {name} {_short(part.get('args', part.get('input')))}  [{call}]"
        case "tool_result":
            failed = "error " if part.get("is_error") else ""
            call = part.get("tool_call_id") or part.get("tool_use_id")
            return f"<- {failed}{_short(part.get('content'))}  [{call}]"
        case kind:
            rest: JsonObject = {key: value for key, value in part.items() if key != "type"}
            return f"({kind}) {_short(rest)}"


def diagnostic_line(one: Diagnostic) -> str:
    """Code, place and detail of a diagnostic."""
    where = f" at version {one.version}" if one.version is not None else ""
    detail = f" {_short(one.detail)}" if one.detail else ""
    return f"{one.code}{where}{detail}"


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split("\n"))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


def _spans(versions: list[int]) -> str:
    """`1-3, 7`: a list of versions in the fewest words."""
    spans: list[list[int]] = []
    for version in versions:
        if spans and version == spans[-1][1] + 1:
            spans[-1][1] = version
        else:
            spans.append([version, version])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans) or "none"
