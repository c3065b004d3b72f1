"""The recorded settings that a request to the Responses API may carry."""

import re

from ledger.events import Json, JsonObject
from replay.providers.settings import Settings, choice_among, count_among, numbers

# Models without reasoning refuse to be asked for it, also sealed; newer ones than these all have it.
_PLAIN = re.compile(r"(^|[/:])(gpt-3|gpt-4|chatgpt|gpt-5(\.\d+)?-chat)")
_LEAST_OUTPUT = 16  # the API refuses less
_REASONING: dict[str, tuple[str, ...]] = {
    "effort": ("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "summary": ("auto", "concise", "detailed"),
}
_VERBOSITY: dict[str, tuple[str, ...]] = {"verbosity": ("low", "medium", "high")}


def reasons(model: str | None) -> bool:
    """Whether a model reasons, by its name: only one that does can be asked for its reasoning, sealed."""
    return model is None or _PLAIN.search(model) is None


def settings_of(given: Settings, *, tools: bool, native: bool) -> JsonObject:
    """The recorded settings that go out. What is about `tools` stays out of a request that declares none.

    What only some models take (reasoning, verbosity) goes out where it is `native`: the target's own model
    answered under this context before.
    """
    kept = numbers(given, {"temperature": (0, 2), "top_p": (0, 1)})
    most = count_among(given, "max_tokens", "max_output_tokens", least=_LEAST_OUTPUT)
    if most is not None:
        kept["max_output_tokens"] = most
    kept |= choice_among(given, tools=tools)
    if tools and isinstance(parallel := given.get("parallel_tool_calls"), bool):
        kept["parallel_tool_calls"] = parallel
        given.kept.add("parallel_tool_calls")
    if native:
        for name, words in (("reasoning", _REASONING), ("text", _VERBOSITY)):
            if chosen := _words(given.get(name), words):
                kept[name] = chosen
                given.kept.add(name)
    return kept


def _words(given: Json, known: dict[str, tuple[str, ...]]) -> JsonObject:
    if not isinstance(given, dict):
        return {}
    return {
        name: value
        for name, words in known.items()
        if isinstance(value := given.get(name), str) and value in words
    }
