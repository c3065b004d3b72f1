"""Mistral's own validator of chat histories as an oracle: the one that a serving stack runs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidator, ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from pydantic import ValidationError


@functools.cache
def _validator(version: str) -> MistralRequestValidator:
    return get_validator(TokenizerVersion(version), mode=ValidationMode.serving)


def mistral_faults(request: Mapping[str, Any]) -> list[str]:
    """What the validators of an old and of a new tokenizer say against a request; empty when they take it."""
    try:
        read: ChatCompletionRequest[Any] = ChatCompletionRequest(
            model=request.get("model") or "mistral-large-latest",
            messages=request["messages"],
            tools=request.get("tools"),
        )
    except ValidationError as error:
        return [str(error)]
    faults = []
    for version in ("v7", "v13"):
        try:
            _validator(version).validate_request(read)
        except MistralCommonException as error:
            faults.append(f"{version}: {error}")
    return faults
