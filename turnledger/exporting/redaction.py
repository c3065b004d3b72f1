"""What is hidden before something leaves: secrets, homes, and whatever cannot be looked into.

It fails closed: a string that is too long to be searched, data that is no text and opaque state of a provider
are hidden as they are, and so is what stands under the name of a secret. Each hidden value has a number of its
own (`[home 1]`), so that what differed still differs, and what was the same still is: ids still meet, no key
covers another. Secrets and names of homes are learned from all events first (`learn`), then hidden wherever
they stand.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence

from ledger.errors import BadInput
from ledger.events import MAX_ID_LENGTH, Json, JsonObject
from turnledger.exporting.shapes import (
    FORMAT_NAMES,
    HOMES_OF_ALL,
    PLACEHOLDER,
    RANDOM,
    RULES,
    Rule,
    is_random,
    is_secret_name,
    is_telling,
    rule,
)

MOST = 1_000_000
"""Characters of a string that is searched."""

OPAQUE = frozenset(
    {
        "signature", "redacted_data", "encrypted_content", "thoughtSignature", "thought_signature",
        "replay_state", "encrypted_index", "encryptedContent", "redactedData", "reasoning_details",
    }
)  # fmt: skip
BINARY = frozenset(
    {
        "data", "b64_json", "base64", "binary", "blob", "bytes", "file_data", "fileData", "image_data",
        "bytesBase64Encoded",
    }
)  # fmt: skip
"""Names under which a word without a blank is data: what it holds cannot be searched."""
IDS = frozenset(
    {
        "id", "type", "conversation_id", "turn_id", "step_id", "tool_call_id", "at", "message_id", "agent_id",
        "response_id", "event_ids", "turn_ids", "step_ids", "retry_of", "source_conversation_id",
        "parent_tool_call_id", "digest", "sha256", "request_fingerprint", "uuid", "parentUuid",
    }
)  # fmt: skip
"""Names that hold the events together: searched for known shapes, but not hidden for looking random."""

_SHORTEST_NAME = 4
_DATA = re.compile(r"[A-Za-z0-9+/_\-]{16,}={0,2}")
_WORD = re.compile(r"[A-Za-z_]{0,24}")  # no shape of ours is one
_OPTION = re.compile(r"--?[\w\-]+")
_JSON = re.compile(r"^[^\S\n]*[\[{]", re.MULTILINE)
_NOTHING = re.compile("(?!)")
_STANDS_FOR = re.compile(PLACEHOLDER)


def rules_of(given: Json) -> tuple[Rule, ...]:
    """Rules of the user's own: `{"name": "regular expression", …}`.

    Raises `BadInput` for what is none, and for one that finds nothing wherever it looks.
    """
    if not isinstance(given, dict):
        raise BadInput(problem="the rules are one JSON object: a name for each, and its regular expression")
    found: list[Rule] = []
    for name, pattern in given.items():
        if not isinstance(pattern, str):
            raise BadInput(problem=f"the rule {name!r} is no regular expression: it is no string")
        try:
            made = rule(name, pattern)
        except re.error as problem:
            raise BadInput(problem=f"the rule {name!r} is no regular expression: {problem}") from None
        if made.pattern.fullmatch(""):
            raise BadInput(problem=f"the rule {name!r} finds the empty text everywhere: say what it is to hide")
        found.append(made)
    return tuple(found)


class Redaction:
    """Hides in events, and counts by rule what was hidden (`hidden`).

    First `learn` all events that will be given, then hide in them with `event`, `text` and `name`.
    """

    def __init__(self, more: Sequence[Rule] = ()) -> None:
        self.hidden: Counter[str] = Counter()
        self._own = tuple(more)
        self._rules = (*more, *RULES)
        self._numbers: dict[tuple[str, str], int] = {}
        self._last: Counter[str] = Counter()
        self._secrets: dict[str, str] = {}
        self._homes: set[str] = set()
        self._everywhere: re.Pattern[str] | None = None

    def learn(self, event: JsonObject) -> None:
        """Look for secrets and homes, to hide them in other places too."""
        counted = self.hidden.copy()
        self._everywhere = _NOTHING  # what is learned is looked for once all is
        self.event(event)
        self.hidden, self._everywhere = counted, None

    def event(self, event: JsonObject) -> JsonObject:
        """An event without what must not leave."""
        return {self._key(name): self._value(name, value, nested=False) for name, value in event.items()}

    def name(self, name: str) -> str:
        """An id, or the name of a conversation: the same for the same, and still short enough for one."""
        hidden = self.text(name, random=False)
        return hidden if len(hidden) <= MAX_ID_LENGTH else self._stand_in("name", name)

    def text(self, text: str, *, random: bool = True) -> str:
        """A text without what the rules find; a very long one is hidden whole."""
        if len(text) > MOST:
            return self._stand_in("too long to be searched", text)
        text = self._json(text)
        for one in self._own if _WORD.fullmatch(text) else self._rules:
            text = self._apply(one, text)
        text = self._known(text)
        return RANDOM.sub(self._if_random, text) if random else text

    def _json(self, text: str) -> str:
        """JSON that is a text, or lines of it, searched as what it says."""
        if not _JSON.search(text):
            return text
        try:
            given: Json = json.loads(text)
        except (ValueError, RecursionError):
            if "\n" not in text:
                return text
            return "\n".join(map(self._json, text.split("\n")))
        if not isinstance(given, dict | list):
            return text
        hidden = self._value("", given)
        return text if hidden == given else json.dumps(hidden, ensure_ascii=False)

    def _key(self, name: str) -> str:
        return name if name in FORMAT_NAMES else self.text(name)

    def _object(self, given: JsonObject) -> JsonObject:
        named = given.get("name", given.get("key", given.get("Name", given.get("Key"))))
        secret = isinstance(named, str) and is_secret_name(named)
        return {
            self._key(name): self._secret(value)
            if secret and name in ("value", "Value", "secret")
            else self._value(name, value)
            for name, value in given.items()
        }

    def _value(self, name: str, value: Json, *, nested: bool = True) -> Json:
        if name in OPAQUE and value:
            self.hidden["opaque state"] += 1
            return {} if isinstance(value, dict) else "[hidden: opaque state]"
        if isinstance(value, str):
            if name in IDS:
                return self.name(value)
            if name in BINARY and _DATA.fullmatch("".join(value.split())):
                return self._stand_in("data", value)
            if is_secret_name(name):
                return self._secret(value)
            return self.text(value)
        if isinstance(value, dict):
            return self._all_secret(value) if is_secret_name(name) else self._object(value)
        if isinstance(value, list):
            return self._all_secret(value) if is_secret_name(name) else self._list(name, value)
        if isinstance(value, int | float) and not isinstance(value, bool) and nested:
            return self._number(name, value)
        return value

    def _list(self, name: str, items: list[Json]) -> list[Json]:
        hidden: list[Json] = []
        before: Json = None
        for item in items:
            is_secret = isinstance(before, str) and is_secret_name(before.lstrip("-"))
            # `["Authorization", "Basic …"]` is a pair, `["--password", "…"]` an argument and its value
            is_secret = is_secret and (len(items) == 2 or _OPTION.fullmatch(str(before)) is not None)
            hidden.append(self._secret(item) if is_secret else self._value(name, item))
            before = item
        return hidden

    def _all_secret(self, value: Json) -> Json:
        if isinstance(value, dict):
            return {self._key(name): self._all_secret(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._all_secret(one) for one in value]
        return self._secret(value)

    def _secret(self, value: Json) -> Json:
        """What stands under the name of a secret, whatever it looks like."""
        if isinstance(value, str) and value.strip() and not _STANDS_FOR.fullmatch(value):
            if is_telling(value):
                self._secrets.setdefault(value, "secret")
            return self._stand_in("secret", value)
        return self._all_secret(value) if isinstance(value, dict | list) else value

    def _number(self, name: str, value: float) -> Json:
        if name.lower().strip("_-") in ("password", "passcode", "pin", "otp", "pwd"):
            return self._stand_in("secret", str(value))
        text = str(value)
        for one in self._own:
            text = self._apply(one, text)
        return value if text == str(value) else text

    def _apply(self, one: Rule, text: str) -> str:
        def hide(match: re.Match[str]) -> str:
            group = next((at for at, found in enumerate(match.groups(), 1) if found is not None), 0)
            found = match[group]
            if not found:
                return match[0]
            if one.learned:
                self._take_in(one.name, found)
            start, end = match.start(group) - match.start(), match.end(group) - match.start()
            return f"{match[0][:start]}{self._stand_in(one.name, found)}{match[0][end:]}"

        return one.pattern.sub(hide, text)

    def _take_in(self, name: str, found: str) -> None:
        if name != "home":
            if is_telling(found):
                self._secrets.setdefault(found, name)
        elif len(found) >= _SHORTEST_NAME and found.lower() not in HOMES_OF_ALL and found[0].isalnum():
            self._homes.add(found.replace("%20", " ").lower())

    def _known(self, text: str) -> str:
        """Without what was learned elsewhere; names of homes in any case."""
        if self._everywhere is None:
            secrets, homes = (
                "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
                for known in (self._secrets, self._homes)
            )
            ways = "|".join(filter(None, (secrets, homes and f"(?i:{homes})")))
            self._everywhere = re.compile(f"(?<![A-Za-z0-9])(?:{ways})(?![A-Za-z0-9])" if ways else _NOTHING)
        return self._everywhere.sub(
            lambda match: self._stand_in(self._secrets.get(match[0], "home"), match[0]), text
        )

    def _if_random(self, match: re.Match[str]) -> str:
        return self._stand_in("token", match[0]) if is_random(match[0]) else match[0]

    def _stand_in(self, name: str, found: str) -> str:
        self.hidden[name] += 1
        number = self._numbers.get((name, found))
        if number is None:
            self._last[name] += 1
            number = self._numbers[name, found] = self._last[name]
        return f"[{name} {number}]"
