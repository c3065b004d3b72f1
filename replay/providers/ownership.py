"""Whose opaque data may go back to a target (DESIGN.md 7.3): that of its provider, api, model and account."""

from collections.abc import Collection, Sequence

from ledger.events import JsonObject
from replay.items import Item, Step
from replay.options import Target


class Ownership:
    """Tells a target's own steps from those of others.

    `providers` and `apis` are the names under which runtimes record the target's provider and wire format.
    A step that does not say its api has any of them; one that does not say its account is nobody else's.
    `readable` are models whose data the target's model reads beside its own.
    """

    def __init__(
        self,
        target: Target,
        model: str | None,
        providers: Collection[str],
        apis: Collection[str],
        readable: Collection[str] = (),
    ) -> None:
        self.model = model
        self._readable = frozenset(readable)
        self._target = target
        self._providers = frozenset(providers)
        self._asked: tuple[Step | None, JsonObject | None] = (None, None)  # the last answer
        self._own: dict[tuple[str | None, ...], bool] = {}  # by maker: a history has few
        self._apis = frozenset(apis) | ({target.api} if target.api is not None else frozenset())

    def foreign(self, step: Step) -> JsonObject | None:
        """None for a step whose opaque data may be sent; else the detail of a diagnostic, naming who made it.

        From the rung `no-foreign` down nothing is taken on trust: the step must name an api of the target, and
        the target's account where the target names one. From `no-thinking` down nothing is the target's own.
        """
        asked = self._asked
        if step is not asked[0]:
            asked = self._asked = (step, self._foreign(step))
        return asked[1]

    def _foreign(self, step: Step) -> JsonObject | None:
        maker = (step.provider, step.api, step.model, step.account)
        if maker not in self._own:
            self._own[maker] = self._is_own(step)
        if self._own[maker]:
            return None
        detail: JsonObject = {"provider": step.provider, "api": step.api, "model": step.model}
        if step.account is not None:
            detail["account"] = step.account
        return detail

    def _is_own(self, step: Step) -> bool:
        target = self._target
        known = (
            step.provider in self._providers
            and self.model is not None
            and (step.model == self.model or step.model in self._readable)
            and (step.api is None or step.api in self._apis)
            and (step.account is None or target.account is None or step.account == target.account)
        )
        if known and target.rung != "native":
            known = target.rung == "no-foreign" and step.api is not None and step.account == target.account
        return known


def model_of(items: Sequence[Item], target: Target, providers: Collection[str]) -> str | None:
    """The target's model, else that of the history's latest step of one of `providers`."""
    if target.model is not None:
        return target.model
    for item in reversed(items):
        if isinstance(item, Step) and item.provider in providers and item.model is not None:
            return item.model
    return None
