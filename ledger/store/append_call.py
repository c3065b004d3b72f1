"""The call of `append_v1`, spoken to libpq directly.

It is made for every append and is always the same: going through psycopg's adaptation costs more than building
the parameters here, in the binary form that PostgreSQL documents. Everything else goes through psycopg as
usual.
"""

import struct
from collections.abc import Sequence
from typing import cast
from weakref import WeakSet

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from ledger.store.draft import Draft, Sealed
from ledger.store.postgres_server import PgConnection

_INT4, _INT8, _TEXT, _BYTEA, _TEXTS, _BYTEAS = 23, 20, 25, 17, 1009, 1001
_TYPES = (
    *(_INT8, _TEXT, _TEXT, _INT4, _INT8, _INT8, _BYTEA, _INT8, _INT8, _INT8),
    *(_TEXTS, _TEXTS, _BYTEAS, _BYTEAS, _BYTEAS),
)
_NAME = b"turnledger_append_v1"
_NOT_PREPARED = b"26000"
_BINARY = [Format.BINARY] * len(_TYPES)

_int4 = struct.Struct(">i").pack
_int8 = struct.Struct(">q").pack
_array = struct.Struct(">iiiii").pack  # dimensions, no nulls, type of elements, how many, first index
_read_int8 = struct.Struct(">q").unpack


class AppendCall:
    """The prepared statement of an engine's connections."""

    def __init__(self, statement: str) -> None:
        self._statement = statement.encode()
        self._prepared: WeakSet[PgConnection] = WeakSet()

    def __call__(
        self, connection: PgConnection, batch: Draft, sealed: Sealed, cid: int | None
    ) -> tuple[int, int]:
        """Store a sealed batch; gives its conversation's key and its last position. `cid` is the key now:
        that of a new conversation is known once its first part is stored.

        Waits in libpq, for a lock at most as long as the server's `lock_timeout`. Raises psycopg's errors.
        """
        _, tenant, name, book, version, head, _, _, fence, source_cid, _ = sealed.before
        ids, kinds, _, _, _ = zip(*batch.events, strict=True)
        values: list[bytes | None] = [  # (psycopg's annotations forget that a parameter may be NULL)
            None if cid is None else _int8(cid),
            tenant.encode(),
            name.encode(),
            _int4(book),
            None if source_cid is None else _int8(source_cid),
            _int8(version),
            head,
            _int8(fence),
            _int8(sealed.recorded_at),
            _int8(sum(map(len, sealed.states))),
            _elements(_TEXT, [event_id.encode() for event_id in ids]),
            _elements(_TEXT, [kind.encode() for kind in kinds]),
            _elements(_BYTEA, sealed.headers),
            _elements(_BYTEA, sealed.heads),
            _elements(_BYTEA, sealed.states),
        ]
        result = self._execute(connection, cast("list[bytes]", values))
        _check(connection, result)
        key, last = result.get_value(0, 0), result.get_value(0, 1)
        assert key is not None, "append_v1 gives a row without nulls"
        assert last is not None, "append_v1 gives a row without nulls"
        return _read_int8(key)[0], _read_int8(last)[0]

    def _execute(self, connection: PgConnection, values: list[bytes]) -> PGresult:
        """Send the call; prepared, unless it is part of a transaction."""
        pgconn = connection.pgconn
        if pgconn.transaction_status != TransactionStatus.IDLE:
            return pgconn.exec_params(self._statement, values, _TYPES, _BINARY, Format.BINARY)
        if connection in self._prepared:
            result = pgconn.exec_prepared(_NAME, values, _BINARY, Format.BINARY)
            if result.error_field(DiagnosticField.SQLSTATE) != _NOT_PREPARED:
                return result
            # psycopg drops every prepared statement of a connection after a rollback. Nothing ran: once more.
        _check(connection, pgconn.prepare(_NAME, self._statement, _TYPES))
        self._prepared.add(connection)
        return pgconn.exec_prepared(_NAME, values, _BINARY, Format.BINARY)


def _elements(kind: int, values: Sequence[bytes]) -> bytes:
    """A one-dimensional array in binary form."""
    parts = [_array(1, 0, kind, len(values), 1)]
    for value in values:
        parts += (_int4(len(value)), value)
    return b"".join(parts)


def _check(connection: PgConnection, result: PGresult) -> None:
    if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        return
    if connection.pgconn.status == ConnStatus.BAD:
        raise psycopg.OperationalError(result.get_error_message())
    raise error_from_result(result)
