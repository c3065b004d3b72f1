"""The options that say whom a request is for: the same for every command that makes one."""

import functools
import json
from collections.abc import Callable
from typing import Any

import click

from ledger.events import Json, JsonObject
from replay.options import RUNGS

_NAMES = ("model", "api", "rung", "account", "dialect", "stored", "thinking")


def _thinking(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Json:
    if value is None:
        return None
    try:
        given: Json = json.loads(value)
    except (ValueError, RecursionError) as problem:
        raise click.BadParameter(f"it is no JSON: {problem}") from None
    if not isinstance(given, dict):
        raise click.BadParameter('it is a JSON object, such as {"type": "enabled", "budget_tokens": 2048}')
    return given


_OPTIONS = (
    click.option(
        "--to", "provider", default="neutral", show_default=True, metavar="TARGET", help="Whose wire format."
    ),
    click.option("--model", help="The model that gets the request: only its own signed reasoning is sent."),
    click.option("--api", metavar="API", help="The provider's api, where it has several."),
    click.option(
        "--rung",
        type=click.Choice(RUNGS),
        help="A step of the ladder: what to leave out when the provider refuses the request. Without it the "
        "first one, or the one that a recorded refusal left (`turnledger refused`).",
    ),
    click.option("--account", metavar="NAME", help="Who sends the request: another account's state stays out."),
    click.option("--dialect", metavar="NAME", help="A variant of the wire format; else by the model's name."),
    click.option(
        "--stored/--not-stored",
        "stored",
        default=None,
        help="Whether the provider keeps responses, so that their item ids can be sent.",
    ),
    click.option(
        "--thinking",
        metavar="JSON",
        callback=_thinking,
        help="The request's thinking configuration, as the provider spells it.",
    ),
)


def agent_option(command: Callable[..., None]) -> Callable[..., None]:
    """`--agent`: the lane; `command` gets it as `agent_id`."""
    told = "The lane of a sub-agent; the main agent otherwise."
    return click.option("--agent", "agent_id", metavar="ID", help=told)(command)


def target_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; `command` gets them as one argument `target`, as `replay` takes it.

    What was not given is not in it: a rung that is given stands, another may be lowered by what is on record.
    """

    @functools.wraps(command)
    def asking(*args: Any, provider: str, **given: Any) -> None:
        chosen = {name: given.pop(name) for name in _NAMES}
        target: JsonObject = {name: value for name, value in chosen.items() if value is not None}
        command(*args, target={"provider": provider, **target}, **given)

    for option in reversed(_OPTIONS):
        asking = option(asking)
    return asking
