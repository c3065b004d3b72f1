"""Items of OpenAI Agents sessions."""

from ledger.intake.openai_agents.database import FILES

__all__ = ["FILES"]
