"""The messages of one session as events, those of its sub-agents at the calls that started them.

OpenCode changes records in place. What is not over yet gives no event, and neither does what comes behind it:
so the events of a later version begin with those of the earlier one. A message is over when it says so, or when
the model made a later one in the same session.
"""

from collections.abc import Iterator

from ledger.events import Json, JsonObject
from ledger.intake.found import Findings
from ledger.intake.mending import NotARecord, as_text, read_record
from ledger.intake.opencode import blocks
from ledger.intake.opencode.answer import Answer
from ledger.intake.opencode.reading import FORMAT, Message, Store
from ledger.intake.opencode.writing import Records, Unfinished
from ledger.intake.scribe import Scribe
from ledger.intake.several import Places
from ledger.turns import Turn
from ledger.turns.lane import Lane

_INFERRED: JsonObject = {"inferred": True}
_SETTINGS = ("agent", "model", "variant", "system", "tools", "format")


class SessionWriter:
    """Writes one session, as a `ledger.intake.several.Writer`."""

    def __init__(self, store: Store, session: str) -> None:
        self._store = store
        self._session = session

    def __call__(self, scribe: Scribe, places: Places, findings: Findings, /) -> Iterator[None]:
        return _Way(self._store, Records(scribe), places, findings).session(self._session)


class _Way:
    """One way through a session and its sub-agents'."""

    def __init__(self, store: Store, records: Records, places: Places, findings: Findings) -> None:
        self._store = store
        self._records = records
        self._recording = records.recording
        self._places = places
        self._findings = findings
        self._read: dict[str, int] = {}  # messages of a sub-agent that were taken, by its session
        self._lanes: dict[str, tuple[Turn, str]] = {}  # where a sub-agent speaks: turn and call
        self._revert: JsonObject = {}
        self._back = False  # what comes now was taken back
        self._back_turns: list[str] = []
        self._back_events: list[str] = []
        self._last = 0  # the number of the message before
        self._through: int | None = None  # of the compaction that is asked for

    def session(self, session: str) -> Iterator[None]:
        """All of it, as far as it is over."""
        info = self._store.infos[session]
        self._revert = _object(info.get("revert"))
        told: JsonObject = {name: info[name] for name in ("id", "directory") if info.get(name) is not None}
        parent = info.get("parent_id", info.get("parentID"))
        if parent is not None:
            told["parent_id"] = parent
        time = _object(info.get("time"))
        self._records.head(told, "session", info.get("time_created", time.get("created")))
        self._records.scribe.note("session", "The session's head.", told)
        yield
        try:
            yield from self._messages(session)
            for child in list(self._lanes):
                yield from self._child(child, None, over=False)
            yield from self._taken_back()
        except Unfinished:
            pass

    def _messages(self, session: str) -> Iterator[None]:
        last, passed = self._store.last(session), False
        for message in self._store.messages(session, self._findings, None):
            passed = passed or message.id == last
            if message.id and message.id == self._revert.get("messageID") and not self._revert.get("partID"):
                self._take_back()
            role = message.info.get("role")
            if role == "user":
                yield from self._prompt(message)
            elif role == "assistant":
                turn = self._turn(message)
                self._places.mark(message.id)
                yield from self._answer(message, turn, turn, over=not passed)
            else:
                self._unknown(message)
            self._last = message.number
            yield

    # -- prompts

    def _prompt(self, message: Message) -> Iterator[None]:
        if not message.parts and not message.damaged:
            raise Unfinished  # its parts are written behind it
        if self._back and self._places.collected is not None:
            self._back_events, self._places.collected = self._places.collected, None
        self._close()
        yield
        self._places.mark(message.id)
        self._records.message(message, blocks.begun_at(message.info))
        turn = self._recording.begin_turn(message.id or None, runtime=FORMAT)
        if self._back:
            self._back_turns.append(turn.turn_id)
        self._through = None
        self._said(message, turn, None)
        self._records.damaged(message)
        yield

    def _close(self) -> None:
        """A prompt comes: of the end of the turn before, nothing was said."""
        turn = self._recording.running
        if turn is not None:
            # Named by the turn: another prompt may come to stand in the place of this one.
            self._records.over(self._last, turn.turn_id)
            turn.abort("unknown", source=_INFERRED)

    def _turn(self, message: Message) -> Turn:
        """The turn of an answer: that of the prompt it names."""
        parent, turn = as_text(message.info.get("parentID")), self._recording.turn
        if turn is not None and (not parent or turn.turn_id == parent):
            return turn
        if parent and self._places.of(parent) is not None:  # an earlier one
            return Turn(self._recording.sheet, parent, self._recording.contexts)
        self._close()
        self._places.mark(parent)
        self._records.message(message, blocks.begun_at(message.info), "turn")
        return self._recording.begin_turn(parent or None, runtime=FORMAT)

    def _said(self, message: Message, lane: Lane, origin: str | None) -> None:
        """What a prompt says: what a person gave, and between it what was put there."""
        settings: JsonObject = {
            name: message.info[name] for name in _SETTINGS if message.info.get(name) is not None
        }
        run: list[JsonObject] = []
        for part in [*message.parts, None]:
            if part is not None and (
                part.get("type") == "file"
                or (
                    part.get("type") == "text"
                    and part.get("synthetic") is not True
                    and part.get("ignored") is not True
                )
            ):
                run.append(part)
                continue
            if run:
                self._records.part(
                    message,
                    {"id": run[0].get("id"), "parts": [dict(sorted(one.items())) for one in run]},
                    blocks.begun_at(message.info),
                )
                given = [blocks.block_of(one) for one in run]
                plain = len(run) == 1 and run[0].get("type") == "text"
                content = as_text(run[0].get("text")) if plain else given
                lane.user_message(
                    content, message.id or None, origin=origin, provider_metadata={FORMAT: settings}
                )
                run = []
            if part is None:
                continue
            if part.get("type") == "text":
                self._records.part(message, part, blocks.begun_at(message.info))
                hidden = "hidden" if part.get("ignored") is True else None
                text = as_text(part.get("text"))
                lane.user_message(text, message.id or None, origin="runtime", visibility=hidden)
            else:
                self._records.note(message, part, lane)
            if part.get("type") == "compaction":
                begun = self._places.of(as_text(part.get("tail_start_id")))
                self._through = None if begun is None else begun - 1

    def _unknown(self, message: Message) -> None:
        if message.info or message.parts:
            self._records.message(message, blocks.begun_at(message.info))
            entry: JsonObject = {"info": message.info, "parts": [*message.parts]}
            self._records.scribe.note("raw", "A message of a role that is not known.", entry)
        self._records.damaged(message)

    # -- answers

    def _answer(self, message: Message, lane: Lane, turn: Turn | None, *, over: bool) -> Iterator[None]:
        """A message of the model. `over` when a later one shows that nothing more comes."""

        def child(part: JsonObject, call: str, over: bool) -> Iterator[None]:
            name, speaking = blocks.child_of(part), turn or self._recording.turn
            if name is not None and self._store.holds(name) and speaking is not None:
                self._lanes[name] = (speaking, call)
                yield from self._child(name, self._store.following(message), over=over)

        answer = Answer(self._records, message, lane, turn, over, child, self._through)
        for index, part in enumerate(message.parts):
            if part.get("id") is not None and part.get("id") == self._revert.get("partID"):
                self._take_back()
            yield from answer.part(index, part)
        yield from answer.end()

    def _child(self, child: str, before: str | None, *, over: bool) -> Iterator[None]:
        """What a sub-agent said and was not told yet, up to a message of its parent."""
        turn, call = self._lanes[child]
        lane = Lane(turn.sheet, turn.turn_id, child, call, self._recording.contexts)  # a call each
        last, passed = self._store.last(child), False
        findings = Findings() if child in self._read else self._findings
        for message in self._store.messages(child, findings, before):
            passed = passed or message.id == last
            if message.number <= self._read.get(child, 0):
                continue
            role = message.info.get("role")
            if role == "user":
                if not message.parts and not message.damaged and not over:
                    raise Unfinished
                self._said(message, lane, "runtime")
                self._records.damaged(message)
            elif role == "assistant":
                yield from self._answer(message, lane, None, over=over or not passed)
            else:
                self._unknown(message)
            self._read[child] = message.number
            yield

    # -- what was taken back

    def _take_back(self) -> None:
        self._back, self._places.collected = True, []

    def _taken_back(self) -> Iterator[None]:
        """The session goes on before what `revert` names."""
        if not self._back:
            return
        events: list[Json] = [*(self._places.collected or self._back_events)]
        turns: list[Json] = [*self._back_turns]
        if events or turns:
            message, part = (as_text(self._revert.get(name)) for name in ("messageID", "partID"))
            self._records.head({"messageID": message, "partID": part}, f"revert:{message}:{part}")
            self._records.scribe.write("retraction", turn_ids=turns or None, event_ids=events or None)
        yield


def _object(value: Json) -> JsonObject:
    """An object, or one that stands in a text."""
    if isinstance(value, str):
        try:
            value, _ = read_record(value.encode(errors="replace"))
        except NotARecord:
            return {}
    return value if isinstance(value, dict) else {}
