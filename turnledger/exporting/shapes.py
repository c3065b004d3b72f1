"""What secrets and homes look like: our own list of well-known shapes, and the names that secrets go by.

The libraries for it search source code line by line and guess the rest by entropy; what runtimes record is JSON
in JSON, ids that look like secrets, and output of any tool.
"""

import re
from dataclasses import dataclass

from ledger.events import EVENT_TYPES, BaseEvent


@dataclass(frozen=True)
class Rule:
    """What is hidden: `[name 1]` stands for what `pattern` matches, or for its first group that matched.

    What was found by a rule that is `learned` is hidden wherever it stands, without its surroundings too.
    """

    name: str
    pattern: re.Pattern[str]
    learned: bool = False


def rule(name: str, pattern: str, learned: bool = False) -> Rule:
    """Raises `re.error` for what is no regular expression."""
    return Rule(name, re.compile(pattern), learned)


PLACEHOLDER = r"\[[^\[\]\r\n]{1,60} \d+\]"

_WORDS = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|credential|api[_\- ]?key|access[_\- ]?key|auth[_\- ]?key"
    r"|account[_\- ]?key|private[_\- ]?key|encryption[_\- ]?key|signing[_\- ]?key|client[_\- ]?key)"
)
_IS = r"[\\\"'`\]]*\s*(?::=|=>|[:=])\s*+[\\\"'`]*+"
_NEW = rf"(?!{PLACEHOLDER})(?!\d+\b)"
_VALUE = _NEW + r"[^\s\\\"'`,;&<>]{4,}"

_SECRET_NAME = re.compile(
    r"(?i)(?:^|[^a-z]|(?-i:(?<=[a-z0-9])(?=[A-Z])))"
    r"(?:pass(?:word|wd|phrase|code)|pwd|pin|otp|secret|token|credential|cookie|auth|authorization|bearer"
    r"|(?:api|access|secret|auth|account|private|encryption|signing|client)[_\-. ]?key)s?"
    r"(?:[_\-. ]?(?:value|text|base|hash|prod|dev|test|[0-9]+))*$"
    r"|^(?:password|passwd|apikey|token|secret)"
)
_COUNTED = re.compile(
    r"(?i)(?:max|min|input|output|total|cached?|read|creation|prompt|completion|reasoning|thinking|budget|num|count)"
    r"_?tokens|tokens?_?(?:count|limit|budget|usage|details)"
)

RULES: tuple[Rule, ...] = (
    rule("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    rule("data", r"(?i)\bdata:[\w.+\-]+/[\w.+\-]+(?:;[\w.+\-]+=[^;,\s]*)*;base64,\s*([A-Za-z0-9+/_\-=%\s]+)"),
    rule("data", r"(?:[A-Za-z0-9+/]{60,}(?:\\n|\r?\n)){2,}[A-Za-z0-9+/]*={0,2}|[A-Za-z0-9+/_\-]{129,}={0,2}"),
    rule("anthropic key", r"\bsk-ant-[A-Za-z0-9_\-]{8,}"),
    rule("openai key", r"\bsk-(?!ant-)(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_\-]{16,}"),
    rule("google key", r"\bAIza[A-Za-z0-9_\-]{30,}|\bya29\.[A-Za-z0-9_\-]{20,}|\bGOCSPX-[A-Za-z0-9_\-]{16,}"),
    rule("github token", r"\b(?:gh[pousr]_[A-Za-z0-9]{12,}|github_pat_[A-Za-z0-9_]{20,})"),
    rule("gitlab token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_\-]{16,}"),
    rule("slack token", r"\bxox[abeprs]-[A-Za-z0-9\-]{10,}|\bxapp-\d-[A-Za-z0-9\-]{10,}"),
    rule("stripe key", r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/]{16,}"),
    rule("npm token", r"\bnpm_[A-Za-z0-9]{30,}"),
    rule("pypi token", r"\bpypi-[A-Za-z0-9_\-]{40,}"),
    rule("huggingface token", r"\bhf_[A-Za-z0-9]{20,}"),
    rule("sendgrid key", r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    rule("telegram token", r"\b\d{8,10}:AA[A-Za-z0-9_\-]{33}\b"),
    rule(
        "vendor key",
        r"\b(?:gsk_|xai-|nvapi-|pplx-|tvly-|r8_|hvs\.|dop_v1_|dckr_pat_|shpat_|sntrys_|lin_api_|ntn_|rnd_)"
        r"[A-Za-z0-9_\-]{16,}|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}",
    ),
    rule("aws key id", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    rule("jwt", r"\beyJ[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]{6,}(?:\.[A-Za-z0-9_\-]*)?"),
    rule(
        "authorization",
        rf"(?i)\b(?:authorization|cookie){_IS}(?:(?:basic|bearer|token|digest|negotiate|apikey)\s+)?+"
        rf"({_NEW}[^\r\n\\\"'`]{{4,}})",
        learned=True,
    ),
    rule("bearer token", rf"(?i)\bbearer\s+({_NEW}[A-Za-z0-9._~+/\-]{{8,}}=*)", learned=True),
    rule("password in a url", r"(?i)\b[a-z][a-z0-9+.\-]*://[^\s/:@]*:([^\s/@]+)@", learned=True),
    rule("secret", rf"(?i){_WORDS}[a-z0-9_\-]*{_IS}({_VALUE})", learned=True),
    rule(
        "secret",
        rf"(?i)[\\\"']+(?:name|key)[\\\"']+\s*:\s*[\\\"']+[^\"'\\\r\n]*{_WORDS}[^\"'\\\r\n]*[\\\"']+\s*,"
        rf"\s*[\\\"']+value[\\\"']+\s*:\s*[\\\"']+({_NEW}[^\"'\\\r\n]+)",
        learned=True,
    ),
    rule("secret", rf"(?i)(?<!\w)--?{_WORDS}[a-z0-9_\-]*\s+[\\\"']*({_VALUE})", learned=True),
    rule("secret", rf"(?i)\blogin\s+\S+\s+password\s+({_VALUE})", learned=True),
    rule("secret", rf"\bcurl\b[^\r\n]*?\s(?:-u|--user)[ =]*[\"']?[^\s:\"']+:({_VALUE})", learned=True),
    rule("e-mail", r"\b[A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*\.[A-Za-z]{2,}\b"),
    rule(
        "home",
        r"(?i)(?:\b[A-Z]:[\\/]+|\\+)(?:Users|Documents and Settings)[\\/]+"
        rf"(?!{PLACEHOLDER})([^\\/\"'`<>|*?:\r\n]{{1,64}}(?=[\\/])|[^\\/\s\"'`<>|*?:,;)\]]+)",
        learned=True,
    ),
    rule(
        "home",
        rf"(?:/|%2[Ff])(?:home|Users)(?:/|%2[Ff])(?!{PLACEHOLDER})([^/\\\s\"'`:<>|*?,;)\]%]+(?:%20[^/\\\s\"'`:]+)*)",
        learned=True,
    ),
    rule("home", rf"(?:(?<=[\s/\\\"'`])|^)-+(?:home|Users)-(?!{PLACEHOLDER})([^-/\\\s\"'`:]+)", learned=True),
    rule("home", r"(?:(?<=[\s\"'`=:])|^)~([A-Za-z_][\w.\-]*)(?=/)", learned=True),
)  # fmt: skip
"""Well-known shapes; one that would find a part of what another finds stands behind it."""

RANDOM = re.compile(r"(?<![A-Za-z0-9_\-+])[A-Za-z0-9_\-+]{32,}={0,2}(?![A-Za-z0-9_\-+])")
"""What may be a token of a kind that nobody knows: `is_random` says of a match whether it is."""

HOMES_OF_ALL = frozenset(
    {
        "admin", "administrator", "agent", "all", "app", "azureuser", "build", "builder", "circleci",
        "claude", "code", "codespace", "coder", "codex", "data", "default", "dev", "developer", "docker",
        "ec2-user", "git", "gitpod", "guest", "home", "jenkins", "jovyan", "linuxbrew", "main", "me",
        "node", "nobody", "public", "root", "runner", "sandbox", "service", "shared", "src", "staff",
        "task", "test", "tmp", "travis", "ubuntu", "user", "username", "users", "vagrant", "var", "vscode",
        "work", "workspace", "you", "your-name", "yourname",
    }
)  # fmt: skip
"""Names of homes that are nobody's: hidden in a path, but not learned."""

FORMAT_NAMES = frozenset(
    set(BaseEvent.model_fields).union(*(model.model_fields for model in EVENT_TYPES.values()))
    | {
        "arguments", "content", "data", "file", "format", "input", "line", "media_type", "message", "messages",
        "name", "output", "parts", "role", "text", "tools", "type", "url", "usage", "value",
    }
)  # fmt: skip
"""Keys that are the vocabulary of events and content: never anybody's name."""


def is_secret_name(name: str) -> bool:
    """Whether what stands under this name is a secret, whatever it looks like."""
    return name not in FORMAT_NAMES and _SECRET_NAME.search(name) is not None and _COUNTED.search(name) is None


def is_random(text: str) -> bool:
    """Whether a long word mixes digits and both cases as words, paths and hashes do not."""
    counts = (sum(map(kind, text)) for kind in (str.isdigit, str.isupper, str.islower))
    return all(count >= 3 for count in counts)


def is_telling(text: str) -> bool:
    """Whether a secret says enough to be looked for without its surroundings: no plain word, and not short."""
    return len(text) >= 8 and any(map(str.isdigit, text)) and any(map(str.isalpha, text))
