"""What leaves redacted holds no secret, wherever it stood; and what held together before still does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ledger.errors import BadInput
from turnledger.exporting.redaction import Redaction, rules_of

TOKEN = "hunter22xyz"
SAID = [
    f'{{"password": "{TOKEN}"}}',
    f'{{\\"password\\": \\"{TOKEN}\\"}}',
    json.dumps({"env": [{"name": "API_KEY", "value": TOKEN}]}),
    f"DB_PASSWORD={TOKEN}",
    f"export SECRET_KEY_BASE='{TOKEN}'",
    f"client-secret: {TOKEN}",
    f"mysql --password {TOKEN} --host db",
    f"curl -s -u me:{TOKEN} https://host",
    f"machine host login me password {TOKEN}",
    f"postgres://me:{TOKEN}@host/db",
    f"redis://:{TOKEN}@host",
    f"Authorization: Basic {TOKEN}==",
    f'-H "authorization: token {TOKEN}"',
    f"Cookie: session={TOKEN}; more=1",
    f"Proxy-Authorization: Digest {TOKEN}",
    f"Bearer {TOKEN}",
    f"auth_token => '{TOKEN}'",
    f"os.environ['OPENAI_API_KEY'] = '{TOKEN}'",
    f"the access key: {TOKEN}",
]
NAMED: list[Any] = [
    {"password": TOKEN},
    {"PASSWORD": TOKEN},
    {"dbPassword": TOKEN},
    {"apiKey": TOKEN},
    {"x-api-key": TOKEN},
    {"API_KEY": TOKEN},
    {"access_token": TOKEN},
    {"accessToken": TOKEN},
    {"client_secret": TOKEN},
    {"Authorization": f"Basic {TOKEN}"},
    {"headers": {"Cookie": TOKEN}},
    {"credentials": {"user": "me", "key": TOKEN}},
    {"secrets": [TOKEN, {"deep": TOKEN}]},
    {"passwords": [[TOKEN]]},
    {"name": "API_KEY", "value": TOKEN},
    {"key": "db.password", "value": TOKEN},
    {"headers": [["Authorization", TOKEN]]},
    {"argv": ["login", "--password", TOKEN]},
    {"API_KEY_PROD": TOKEN},
    {"password": {"value": TOKEN}},
]
HOMES = [
    "/home/marie",
    "/home/marie/app",
    "/home/Marie%20Curie/app",
    "file:///home/marie/app",
    "%2Fhome%2Fmarie%2Fapp",
    "C:/Users/marie/app",
    "C:\\Users\\marie\\app",
    "C:\\\\Users\\\\marie\\\\app",
    "C:\\Users\\Anna Marie\\app",
    "/c/Users/marie/app",
    "/mnt/c/Users/marie",
    "\\\\host\\Users\\marie\\app",
    "/Users/marie",
    "-home-marie-app",
    "/root/.claude/projects/-Users-marie-app/x.jsonl",
    "~marie/app",
]
DATA = "QUJDRGVmZ2hJ"
BINARY: list[Any] = [
    f"data:image/png;base64,{DATA}",
    f"see ![x](data:image/svg+xml;charset=utf-8;base64,{DATA}) there",
    {"type": "image", "media_type": "image/png", "data": DATA * 2},
    {"file": {"file_data": DATA * 3}},
    {"id": DATA * 40},
    {"digest": DATA * 40},
    f"in text {'QUJDRGVmZ2g' * 20} goes on",
    "\n".join(["QUJDRGVmZ2g" * 6] * 4),
]
OPAQUE = ["signature", "encrypted_content", "thoughtSignature", "redacted_data"]


def hidden(*values: Any) -> str:
    """What leaves of these values, each in a tool's arguments, in its result, as a key and in a text."""
    redaction = Redaction()
    events: list[Any] = [
        {"type": "tool_result", "id": f"e{number}", "args": value, "content": [value], "text": said(value)}
        for number, value in enumerate(values)
    ]
    for event in events:
        redaction.learn(event)
    return json.dumps([redaction.event(event) for event in events])


def said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("value", [*SAID, *NAMED], ids=said)
def test_a_secret_is_hidden_in_every_spelling(value: Any) -> None:
    assert TOKEN not in hidden(value)
    assert TOKEN not in hidden({said(value): "as a key"})


@pytest.mark.parametrize("value", HOMES)
def test_who_has_a_home_is_hidden_in_every_spelling(value: str) -> None:
    for one in (value, f"cd {value} && ls", json.dumps({"cwd": value}), json.dumps(json.dumps({"cwd": value}))):
        assert "marie" not in hidden(one).lower()


@pytest.mark.parametrize("value", BINARY, ids=lambda value: said(value)[:40])
def test_data_that_is_no_text_is_hidden(value: Any) -> None:
    assert "QUJDRGV" not in hidden(value)


def test_what_was_found_once_is_hidden_wherever_it_stands() -> None:
    left = hidden(
        "so its key is hunter22xyz, and marie@host says: drwx marie staff; Marie's",
        {"password": TOKEN},
        "/home/marie/app",
    )
    assert TOKEN not in left
    assert "marie" not in left.lower()


@pytest.mark.parametrize("name", OPAQUE)
def test_state_of_a_provider_is_hidden(name: str) -> None:
    assert "c2ln" not in json.dumps(Redaction().event({"type": "thinking_complete", name: "c2ln"}))


def test_words_that_only_look_alike_stay() -> None:
    kept: list[Any] = [
        {"usage": {"input_tokens": 1234567, "max_tokens": 64000}},
        {"max_tokens": "auto"},
        "commit 5c22a7d5c22a7d5c22a7d5c22a7d5c22a7d5c22ad by someone",
        "the token is not here, and no password either",
        "/etc/hosts and /usr/home_page and ~/app",
        "toolUseResult of 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        {"type": "text", "text": "plain", "role": "user", "name": "ls"},
        "max_tokens=128000, keys = 3",
    ]
    redaction = Redaction()
    for value in kept:
        assert redaction.event({"type": "note", "args": value}) == {"type": "note", "args": value}
    assert not redaction.hidden


def test_what_differed_differs_and_what_was_the_same_is() -> None:
    redaction = Redaction()
    first = {"id": "a@x.com", "args": {"a@x.com": 1, "b@x.com": 2, "c": ["b@x.com"]}}
    second = {"id": "b@x.com", "event_ids": ["a@x.com", "b@x.com"]}
    left, right = redaction.event(first), redaction.event(second)
    assert left["args"] == {"[e-mail 1]": 1, "[e-mail 2]": 2, "c": ["[e-mail 2]"]}
    assert (left["id"], right["id"], right["event_ids"]) == (
        "[e-mail 1]", "[e-mail 2]", ["[e-mail 1]", "[e-mail 2]"]
    )  # fmt: skip


def test_a_name_stays_short_enough_for_one() -> None:
    redaction = Redaction()
    name = "/home/a." * 25
    assert len(name) <= 200 < len(redaction.text(name))
    assert redaction.name(name) == redaction.name(name) == "[name 1]"
    assert redaction.name(f"{name[1:]}/") != "[name 1]"


def test_a_user_s_own_rules_search_numbers_too() -> None:
    redaction = Redaction(rules_of({"card": r"4\d{15}", "none": "x*(?=never)"}))
    event = {"type": "tool_start", "args": {"card": 4111111111111111, "n": 4, "text": "xx 4111111111111111"}}
    left = redaction.event(event)
    assert left["args"] == {"card": "[card 1]", "n": 4, "text": "xx [card 1]"}
    assert redaction.hidden == {"card": 2}


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        (["a"], "one JSON object"),
        ({"mine": "("}, "'mine' is no regular expression"),
        ({"mine": 3}, "it is no string"),
        ({"mine": "x*"}, "finds the empty text"),
        ({"mine": ""}, "finds the empty text"),
    ],
)
def test_a_rule_that_is_none_is_refused(rules: Any, problem: str) -> None:
    with pytest.raises(BadInput, match=problem.replace("(", r"\(")):
        rules_of(rules)


def test_hiding_again_changes_nothing() -> None:
    redaction = Redaction()
    once = [redaction.event({"type": "note", "args": value}) for value in [*SAID, *NAMED, *HOMES, *BINARY]]
    again = Redaction()
    assert [again.event(one) for one in once] == once
