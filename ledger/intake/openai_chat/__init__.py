"""Live output of Chat Completions (`stream: true`) and of the many servers that speak its dialects."""
