"""Live output of Anthropic's Messages API (`stream: true`), as server-sent events or one event a line."""
