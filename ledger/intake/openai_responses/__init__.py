"""Live output of OpenAI's Responses API (`stream: true`), as server-sent events or one event a line."""
