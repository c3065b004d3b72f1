"""`refused` and the ladder: a refusal on record lowers the next request, and only that."""

from __future__ import annotations

import json

import pytest

from tests.integration.cli.desk import Desk
from tests.integration.cli.test_reading import oslo  # noqa: F401 - a fixture

REFUSAL = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c_1."
TO = ("--to", "anthropic", "--model", "m")


def rung(desk: Desk, *args: str) -> str:
    return str(desk("replay", "oslo", *(args or TO), "--json").json["target"]["rung"])


def test_a_refusal_lowers_the_next_request(oslo: Desk) -> None:  # noqa: F811
    body = json.dumps(
        {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(REFUSAL)}}}
    )
    told = oslo("refused", "oslo", *TO, "--json", input=body).json
    assert (told["class"], told["rules"], told["refused"], told["rung"]) == (
        "dangling",
        ["A1"],
        "native",
        "flat-tools",
    )
    answer = oslo("replay", "oslo", *TO, "--json").json
    assert answer["target"]["rung"] == "flat-tools"
    assert "rung_lowered" in {one["code"] for one in answer["diagnostics"]}
    assert "tool_use" not in json.dumps(answer["messages"])
    assert "on the rung flat-tools" in oslo("replay", "oslo", *TO).out
    # Not in the past, not for others, and not against the caller's will.
    assert rung(oslo, *TO, "--at", str(told["version"] - 1)) == "native"
    assert rung(oslo, "--to", "anthropic", "--model", "other") == "native"
    assert rung(oslo, *TO, "--rung", "native") == "native"


def test_refused_again_goes_on_down_to_the_end(oslo: Desk) -> None:  # noqa: F811
    first = oslo("refused", "oslo", *TO, input=REFUSAL)
    assert "rule A1" in first.out
    assert "starts on the rung flat-tools, not native" in first.out
    assert "rung text-only, not flat-tools" in oslo("refused", "oslo", *TO, input="no idea").out
    last = oslo("refused", "oslo", *TO, input="no idea")
    assert last.code == 0
    assert "text-only is the last rung" in last.out
    assert rung(oslo) == "text-only"


def test_the_rung_that_it_stood_on_can_be_said(oslo: Desk) -> None:  # noqa: F811
    told = oslo("refused", "oslo", *TO, "--rung", "flat-tools", "--json", input=REFUSAL).json
    assert (told["refused"], told["rung"]) == ("flat-tools", "text-only")


@pytest.mark.parametrize("said", ["", " \n"])
def test_a_refusal_without_words_is_none(oslo: Desk, said: str) -> None:  # noqa: F811
    answer = oslo("refused", "oslo", *TO, input=said)
    assert answer.code == 1
    assert "no error text" in answer.err


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("--to", "nowhere"), 1, "anthropic"),
        ((*TO, "--rung", "cellar"), 2, "text-only"),
        ((*TO, "--thinking", "{"), 2, "JSON"),
        ((*TO, "--thinking", "[1]"), 2, "JSON object"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "explain", "refused"])
def test_a_target_that_is_none_says_what_there_is(
    oslo: Desk,  # noqa: F811
    command: str,
    args: tuple[str, ...],
    code: int,
    says: str,
) -> None:
    answer = oslo(command, "oslo", *args, input="x")
    assert (answer.code, says in answer.err) == (code, True)


def test_the_requests_own_choices_reach_it(oslo: Desk) -> None:  # noqa: F811
    given = ("--account", "acme", "--dialect", "plain", "--stored", "--thinking", '{"type":"adaptive"}')
    target = oslo("replay", "oslo", *TO, "--api", "anthropic-messages", *given, "--json").json["target"]
    assert target == {
        "provider": "anthropic",
        "model": "m",
        "rung": "native",
        "api": "anthropic-messages",
        "account": "acme",
        "dialect": "plain",
        "stored": True,
        "thinking": {"type": "adaptive"},
    }


def test_explain_on_a_rung(oslo: Desk) -> None:  # noqa: F811
    found = oslo("explain", "oslo", *TO, "--rung", "no-thinking", "--json").json
    [thinking] = [one for one in found["events"] if one["type"] == "thinking_complete"]
    assert thinking["outcome"] == "left_out"
    assert [one["code"] for one in thinking["diagnostics"]] == ["rung_thinking_skipped"]
