"""Live output of `claude -p --output-format stream-json --verbose`, with and without partial messages."""
