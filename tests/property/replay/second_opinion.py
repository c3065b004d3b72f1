"""What pydantic-ai's own models send of a request of ours to pydantic-ai: bodies, caught before the network."""

from __future__ import annotations

import asyncio
import importlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import boto3
import httpx2
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

# Our target -> the library's module of models and of providers, the model's and the provider's class.
LIBRARY = {
    "anthropic": ("anthropic", "AnthropicModel", "AnthropicProvider"),
    "openai-chat": ("openai", "OpenAIChatModel", "OpenAIProvider"),
    "openai-responses": ("openai", "OpenAIResponsesModel", "OpenAIProvider"),
    "gemini": ("google", "GoogleModel", "GoogleProvider"),
    "bedrock": ("bedrock", "BedrockConverseModel", "BedrockProvider"),
    "mistral": ("mistral", "MistralModel", "MistralProvider"),
}


class SecondOpinion:
    """One model of the library; its requests end here.

    Raises `ImportError` where the package of its provider is not installed.
    """

    def __init__(self, target: str, model: str) -> None:
        module, kind, provider = LIBRARY[target]
        models = importlib.import_module(f"pydantic_ai.models.{module}")
        providers = importlib.import_module(f"pydantic_ai.providers.{module}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a timeout
            made: Callable[..., Model] = getattr(models, kind)
            caught = self._aws() if target == "bedrock" else self._http()
            self._model = made(model, provider=getattr(providers, provider)(**caught))
        self._loop = asyncio.new_event_loop()
        self._bodies: list[dict[str, Any]] = []

    def body(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The body that the library makes of a request of the target `pydantic-ai`."""
        parameters = request.get("model_request_parameters", {})
        tools = [ToolDefinition(**tool) for tool in parameters.get("function_tools", [])]
        self._bodies.clear()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about settings that a model does not have
                self._loop.run_until_complete(
                    model_request(
                        self._model,
                        ModelMessagesTypeAdapter.validate_python(request["messages"]),
                        model_settings=request.get("model_settings"),
                        model_request_parameters=ModelRequestParameters(function_tools=tools),
                    )
                )
        except ModelHTTPError:
            pass  # what `_caught` answers
        return self._bodies[0]

    def _http(self) -> dict[str, Any]:
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(self._caught), timeout=60)
        return {"api_key": "none", "http_client": client}

    def _aws(self) -> dict[str, Any]:
        session = boto3.Session("none", "none", region_name="us-east-1")
        client = session.client("bedrock-runtime")
        client.meta.events.register("before-send.bedrock-runtime.*", self._caught_by_aws)
        return {"bedrock_client": client}

    def _caught_by_aws(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        self._bodies.append(json.loads(request.body))
        return AWSResponse(request.url, 400, {"x-amzn-ErrorType": "ValidationException"}, _Raw())

    def _caught(self, request: httpx2.Request) -> httpx2.Response:
        self._bodies.append(json.loads(request.content))
        return httpx2.Response(400, json={"error": {"message": "caught"}})


class _Raw:
    """What botocore reads an answer from."""

    def stream(self) -> Iterator[bytes]:
        yield b'{"message": "caught"}'
