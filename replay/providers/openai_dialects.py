"""Dialects of Chat Completions: what each needs of earlier reasoning, as data (specs/providers.md 2.1)."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ledger.errors import BadInput
from replay.diagnostics import Code, register
from replay.options import Target

register(
    Code(
        "reasoning_not_taken",
        "info",
        "Reasoning is left out: the dialect has no field for it, or refuses it (detail.dialect).",
        "Nothing; name another dialect if the server takes it.",
    )
)

Fill: TypeAlias = Literal["never", "calls", "always"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect. `field` is where reasoning goes back, None where none may.

    `fill` says which assistant messages must have the field even when no reasoning was recorded (`filler`
    stands there then). `images` and `late_system`: whether user messages hold images, and whether system
    messages may stand amid the history. `details`: structured reasoning goes back beside the field (O26).
    `thoughts`: Gemini's signatures go back on the calls that they came with (O27).
    `between`: on servers that are strict about who follows whom, what the assistant says between a result and
    a user message; its own first message is then preceded by one of the user.
    """

    name: str
    providers: frozenset[str]
    field: str | None = None
    fill: Fill = "never"
    filler: str = ""
    images: bool = True
    late_system: bool = True
    details: bool = False
    thoughts: bool = False
    between: str | None = None


_PLAIN = Dialect("plain", frozenset({"openai", "openai-chat", "azure", "azure-openai"}))
# In the order of rules O20 to O27.
DIALECTS = {
    one.name: one
    for one in (
        _PLAIN,
        Dialect("deepseek", frozenset({"deepseek"}), "reasoning_content", "always", images=False),
        Dialect("deepseek-r1", frozenset({"deepseek"}), images=False),
        Dialect("kimi", frozenset({"moonshot", "moonshotai", "kimi"}), "reasoning_content", "calls", " "),
        Dialect("mimo", frozenset({"xiaomi", "mimo"}), "reasoning_content", "calls", " "),
        Dialect("glm", frozenset({"zai", "z-ai", "zhipu", "zhipuai"}), "reasoning_content"),
        Dialect("minimax", frozenset({"minimax"}), "reasoning_content", images=False),
        Dialect("mistral", frozenset({"mistral", "mistralai"}), late_system=False),
        Dialect(
            "reasoning",
            frozenset({"openrouter", "vllm", "ollama", "groq", "together"}),
            "reasoning",
            details=True,
        ),
        Dialect(
            "gemini",
            frozenset({"google", "gemini", "google-generative-ai", "google-openai", "google-vertex"}),
            thoughts=True,
        ),
    )
}
_BY_MODEL = (
    (re.compile(r"deepseek.*(reasoner|r1)"), "deepseek-r1"),
    (re.compile(r"deepseek"), "deepseek"),
    (re.compile(r"kimi|moonshot"), "kimi"),
    (re.compile(r"mimo"), "mimo"),
    (re.compile(r"glm"), "glm"),
    (re.compile(r"minimax"), "minimax"),
    (re.compile(r"gemini"), "gemini"),
    (re.compile(r"(mi|code|magi|mini|devs|pix|vox)stral"), "mistral"),
)


def dialect_of(target: Target) -> Dialect:
    """The dialect that a target names, else that of its model's name, else OpenAI's own.

    Raises `BadInput` for a dialect that there is not, listing what there is.
    """
    if target.dialect is not None:
        found = DIALECTS.get(target.dialect)
        if found is None:
            known = ", ".join(DIALECTS)
            raise BadInput(problem=f"openai-chat has no dialect {target.dialect!r}; it has: {known}")
        return found
    model = (target.model or "").lower()
    return next((DIALECTS[name] for pattern, name in _BY_MODEL if pattern.search(model)), _PLAIN)
