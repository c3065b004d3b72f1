"""Live output of the Vercel AI SDK: UI message streams (SSE) and `fullStream` parts, one JSON object a line."""
