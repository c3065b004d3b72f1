"""The public API: everything named is there, typed and documented; the README's example runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import turnledger
from ledger.errors import TurnledgerError

README = Path(__file__).resolve().parents[3] / "README.md"


@pytest.mark.parametrize("name", turnledger.__all__)
def test_public_names_are_there_and_documented(name: str) -> None:
    thing = getattr(turnledger, name)
    if callable(thing) and not str(thing).startswith("typing"):
        assert inspect.getdoc(thing), f"{name} has no docstring"


@pytest.mark.parametrize(
    "name", [name for name in turnledger.__all__ if inspect.isfunction(getattr(turnledger, name))]
)
def test_public_functions_are_typed_without_any(name: str) -> None:
    hints = get_type_hints(getattr(turnledger, name), include_extras=True)
    parameters = inspect.signature(getattr(turnledger, name)).parameters
    assert set(hints) == {*parameters, "return"}
    assert Any not in hints.values()


def test_the_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert "hello" in capsys.readouterr().out


def test_every_error_says_what_was_wrong_and_never_fails_to() -> None:
    def tree(kind: type[TurnledgerError]) -> list[type[TurnledgerError]]:
        return [kind, *(below for sub in kind.__subclasses__() for below in tree(sub))]

    for kind in tree(TurnledgerError):
        assert kind.__doc__, kind
        assert str(kind()).strip(), kind
        named = kind(**dict.fromkeys(re.findall(r"\{(\w+)", kind.__doc__), "x"))
        assert "{" not in str(named), kind
        assert "\n" not in str(named), kind
        assert str(named.at_line(3)).startswith("line 3: ")


def test_the_error_tree_is_drawn_as_it_is() -> None:
    import ledger.errors as module

    drawn = re.findall(r"^[│├└─ ]*(\w+)", (module.__doc__ or "").split("TurnledgerError", 1)[1], re.MULTILINE)
    names = {name for name in drawn if name[:1].isupper()} - {"A"}
    defined = {
        name
        for name, thing in vars(module).items()
        if inspect.isclass(thing) and issubclass(thing, TurnledgerError) and thing.__module__ == module.__name__
    } - {"TurnledgerError"}
    assert names == defined
