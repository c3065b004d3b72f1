"""Items and parts as the Responses API takes them: messages, reasoning, calls, outputs, tools, settings."""

from collections.abc import Sequence

from ledger.events import Json, JsonObject
from replay.items import Block, Call, Thinking
from replay.providers.content import Report, result_parts, sendable_text, written_part
from replay.providers.media import Media, image_problem, is_base64, refused, text_problem
from replay.providers.openai_chat_parts import arguments_text
from replay.providers.openai_responses_annotations import annotations
from replay.providers.openai_responses_units import ItemIds, Unit, is_custom, is_item_id
from replay.providers.wire_text import cleaned_text, is_clean

_REASONING_ID = "rs_"
_PHASES = ("commentary", "final_answer")


def user_part(part: JsonObject, report: Report) -> JsonObject | None:
    """One part of user content, as an input part (R14); None for blank text."""
    sent = written_part(part, _media, report)
    if sent is not None and sent["type"] == "text":
        return {"type": "input_text", "text": sent["text"]}
    return sent


def _media(media: Media) -> JsonObject | str:
    if media.kind == "image":
        if media.url is not None:
            return {"type": "input_image", "detail": "auto", "image_url": cleaned_text(media.url)}
        url = f"data:{media.media_type};base64,{media.data}"
        return image_problem(media) or {"type": "input_image", "detail": "auto", "image_url": url}
    if media.text is not None or (media.media_type or "").startswith("text/"):
        text, problem = text_problem(media)
        return problem or {"type": "text", "text": text}
    if media.media_type != "application/pdf":
        return refused(media)
    if media.url is not None:
        return {"type": "input_file", "file_url": cleaned_text(media.url)}
    if media.data is None or not is_base64(media.data):
        return "its data is not base64"
    name = cleaned_text(media.name or "document.pdf")
    return {"type": "input_file", "filename": name, "file_data": f"data:application/pdf;base64,{media.data}"}


def text_items(block: Block | None, text: str, unit: Unit, items: Sequence[JsonObject]) -> list[JsonObject]:
    """A text of the model as a new item, or none where it goes on in the last one: a message that goes by its
    id holds all of its parts."""
    phase = unit.opaque[block].phase if block is not None and block in unit.opaque else None
    beside: JsonObject = {"phase": phase} if phase in _PHASES else {}
    name = None if block is None else unit.ids.get(block)
    if name is None:
        return [{"type": "message", "role": "assistant", "content": text, **beside}]
    told = None if block is None else block.provider_metadata
    if isinstance(told, dict) and told.get("type") == "refusal":
        part: JsonObject = {"type": "refusal", "refusal": text}
    else:
        part = {"type": "output_text", "text": text, "annotations": annotations(told)}
    last = items[-1] if items else {}
    content = last.get("content")
    if last.get("id") == name and isinstance(content, list):
        content.append(part)
        return []
    return [
        {"type": "message", "id": name, "role": "assistant", "status": "completed", "content": [part], **beside}
    ]


def reasoning_item(thinking: Thinking, unit: Unit, taken: ItemIds) -> JsonObject | str:
    """Reasoning as an item, or why it cannot go back: `unsigned`, or what is wrong with it.

    Sealed reasoning is bound to its own id, and goes with it (R8); where the provider keeps responses, only one
    that goes back by its ids may name any (R4).
    """
    opaque = unit.opaque.get(thinking)
    if opaque is None:
        return "invalid_replay_state"
    name = unit.ids.get(thinking)
    sealed = opaque.encrypted
    if name is None and not sealed:
        return "unsigned"
    texts = _summary(thinking) if opaque.summary is None else opaque.summary
    if not is_clean([*texts, sealed]):
        return "lone surrogate"
    item: JsonObject = {"type": "reasoning"}
    if name is None and unit.problem is None:
        own = opaque.item_id
        if own is None or not is_item_id(own, _REASONING_ID) or not taken.take([own]):
            own = None
        name = own
    if name is not None:
        item["id"] = name
    item["summary"] = [{"type": "summary_text", "text": text} for text in texts if text]
    if sealed:
        item["encrypted_content"] = sealed
    return item


def _summary(thinking: Thinking) -> tuple[str, ...]:
    """The summary's texts where none were recorded apart: the text, unless it is the reasoning's content."""
    text, told = thinking.event.text, thinking.provider_metadata
    content = told.get("content") if isinstance(told, dict) else None
    texts = (
        [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return () if texts and "\n\n".join(one for one in texts if isinstance(one, str)) == text else (text,)


def call_item(call: Call, sent: str, name: str, unit: Unit, report: Report) -> JsonObject:
    """A call for the client to answer."""
    named: JsonObject = {} if call not in unit.ids else {"id": unit.ids[call]}
    done: JsonObject = {} if call not in unit.ids else {"status": "completed"}
    args = call.event.args
    if is_custom(call) and isinstance(args, dict):
        text = sendable_text(str(args["input"]), report)
        return {"type": "custom_tool_call", **named, "call_id": sent, "name": name, "input": text}
    arguments = arguments_text(args, report)
    return {"type": "function_call", **named, "call_id": sent, "name": name, "arguments": arguments, **done}


def output_item(call_id: str, content: Json, failed: bool, custom: bool, report: Report) -> JsonObject:
    """What a call gave: text, or parts where there are images or files. A failure is said in its text."""
    text, media = result_parts(content, failed, _media, report)
    output: Json = text
    if media:
        said: list[Json] = [{"type": "input_text", "text": text}] if text else []
        output = [*said, *media]
    kind = "custom_tool_call_output" if custom else "function_call_output"
    return {"type": kind, "call_id": call_id, "output": output}
