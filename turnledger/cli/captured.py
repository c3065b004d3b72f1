"""Finished requests that commands read from files: one JSON object, whoever made it."""

import json
from typing import BinaryIO

from ledger.events import JsonObject
from turnledger.cli.front import Failure


def name_of(file: BinaryIO) -> str:
    """The file's name as messages call it."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else "stdin"


def request_in(file: BinaryIO) -> JsonObject:
    """The request body in a file.

    Raises `Failure` naming the file when it does not hold one JSON object in UTF-8.
    """
    name = name_of(file)
    try:
        request = json.loads(file.read().decode())
    except UnicodeDecodeError as error:
        raise Failure(f"{name} is not UTF-8 at byte {error.start}; save the request as UTF-8 JSON") from None
    except json.JSONDecodeError as error:
        raise Failure(f"{name} is not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise Failure(f"{name} nests too deep to be read") from None
    if not isinstance(request, dict):
        raise Failure(f"{name} holds a JSON {type(request).__name__}; a request is an object")
    return request
