"""Tables of the conversation view on both engines: records in and out, tracking, migrations."""

from pathlib import Path

from ledger.store.migrations import Component

PROJECTIONS = Component("projections", Path(__file__).parent.parent / "migrations")
"""The room's tables: hand it to `Ledger.open(..., components=(PROJECTIONS,))`."""
