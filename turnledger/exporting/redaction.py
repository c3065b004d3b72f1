"""What is hidden before something leaves: secrets, home folders, and whatever cannot be looked into.

It fails closed: a string that is too long to be searched, data that is no text and opaque state of a provider
are hidden as they are. Rules are regular expressions over every string of an event, keys included; they are our
own list of well-known shapes, since the libraries for it search files of source code and guess by entropy.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ledger.errors import BadInput
from ledger.events import Json, JsonObject

MOST = 1_000_000
"""Characters of a string that is searched."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\r\n]{256,}={0,2}")
_OPAQUE = frozenset(
    {
        "signature", "redacted_data", "encrypted_content", "thoughtSignature", "thought_signature",
        "replay_state", "encrypted_index", "encryptedContent", "redactedData", "reasoning_details",
    }
)  # fmt: skip
_KEPT = frozenset(
    {
        "id", "type", "conversation_id", "turn_id", "step_id", "tool_call_id", "at", "message_id",
        "response_id", "event_ids", "turn_ids", "step_ids", "retry_of", "source_conversation_id",
        "digest", "sha256",
    }
)  # fmt: skip
"""Names that hold the events together: searched like all else, but never hidden for their length or shape."""


@dataclass(frozen=True)
class Rule:
    """What is hidden: `[name]` stands for what `pattern` matches, or for its first group where it has one."""

    name: str
    pattern: re.Pattern[str]


def _rule(name: str, pattern: str, flags: int = 0) -> Rule:
    return Rule(name, re.compile(pattern, flags))


RULES: tuple[Rule, ...] = (
    _rule("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    _rule("anthropic key", r"\bsk-ant-[A-Za-z0-9_\-]{8,}"),
    _rule("openai key", r"\bsk-(?!ant-)(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_\-]{16,}"),
    _rule("google key", r"\bAIza[A-Za-z0-9_\-]{30,}"),
    _rule("github token", r"\b(?:gh[pousr]_[A-Za-z0-9]{12,}|github_pat_[A-Za-z0-9_]{20,})"),
    _rule("gitlab token", r"\bglpat-[A-Za-z0-9_\-]{16,}"),
    _rule("slack token", r"\bxox[abeprs]-[A-Za-z0-9\-]{10,}"),
    _rule("stripe key", r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    _rule("npm token", r"\bnpm_[A-Za-z0-9]{30,}"),
    _rule("pypi token", r"\bpypi-[A-Za-z0-9_\-]{40,}"),
    _rule("huggingface token", r"\bhf_[A-Za-z0-9]{20,}"),
    _rule("aws key id", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _rule("jwt", r"\beyJ[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]{6,}(?:\.[A-Za-z0-9_\-]*)?"),
    _rule("bearer token", r"(?i)\bbearer\s+([A-Za-z0-9._~+/\-]{8,}=*)"),
    _rule("password in a url", r"(?i)\b[a-z][a-z0-9+.\-]*://[^\s/:@]*:([^\s/@]+)@"),
    _rule(
        "secret",
        r"(?i)(?:pass(?:word|wd)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?"
        r"[\"']?\s*[:=]\s*[\"']?([^\s\"',;]{6,})",
    ),
    _rule("e-mail", r"\b[A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*\.[A-Za-z]{2,}\b"),
    _rule("home", r"(?:/home/|/Users/|\b[A-Za-z]:\\\\?Users\\\\?)([^/\\\s\"':]+)"),
)
"""Well-known shapes, the longest first."""


def rules_of(given: Json) -> tuple[Rule, ...]:
    """Rules of the user's own: `{"name": "regular expression", …}`.

    Raises `BadInput` for what is none.
    """
    if not isinstance(given, dict):
        raise BadInput(problem="the rules are one JSON object: a name for each, and its regular expression")
    found: list[Rule] = []
    for name, pattern in given.items():
        try:
            if not isinstance(pattern, str):
                raise re.error("it is no string")
            found.append(_rule(name, pattern))
        except re.error as problem:
            raise BadInput(problem=f"the rule {name!r} is no regular expression: {problem}") from None
    return tuple(found)


class Redaction:
    """Hides in events, and counts by rule what was hidden."""

    def __init__(self, more: Sequence[Rule] = ()) -> None:
        self.hidden: Counter[str] = Counter()
        self._rules = (*more, *RULES)

    def event(self, event: JsonObject) -> JsonObject:
        """An event, or any JSON object, without what must not leave."""
        return {self.text(name): self._value(name, value) for name, value in event.items()}

    def text(self, text: str) -> str:
        """A text without what the rules find; a very long one is hidden whole."""
        if len(text) > MOST:
            self.hidden["too long to be searched"] += 1
            return f"[hidden: {len(text):,} characters]"
        for rule in self._rules:
            text = self._apply(rule, text)
        return text

    def _value(self, name: str, value: Json) -> Json:
        if isinstance(value, str):
            if name in _KEPT:
                return self.text(value)
            if name in _OPAQUE and value:
                self.hidden["opaque state"] += 1
                return "[hidden: opaque state]"
            if _BASE64.fullmatch(value):
                self.hidden["data that is no text"] += 1
                return "[hidden: data]"
            return self.text(value)
        if isinstance(value, dict):
            if name in _OPAQUE:
                self.hidden["opaque state"] += 1
                return {}
            return self.event(value)
        if isinstance(value, list):
            return [self._value(name, item) for item in value]
        return value

    def _apply(self, rule: Rule, text: str) -> str:
        def hide(match: re.Match[str]) -> str:
            self.hidden[rule.name] += 1
            if not rule.pattern.groups or match[1] is None:
                return f"[{rule.name}]"
            start, end = match.start(1) - match.start(), match.end(1) - match.start()
            return f"{match[0][:start]}[{rule.name}]{match[0][end:]}"

        return rule.pattern.sub(hide, text)
