"""Items of OpenAI Agents sessions."""
