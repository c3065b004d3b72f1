"""A rule table as a Markdown page: what is judged, what the renderer does, which test states it."""

from collections.abc import Mapping

from replay.providers.rules import Judged, Rules

_JUDGED = {
    Judged.REQUEST: "from the request",
    Judged.ORIGINAL: "beside the original responses",
    Judged.NEVER: "no",
}


def section(title: str, rules: Rules, tests: Mapping[str, str]) -> str:
    """One provider's section; `tests` names the tests of each rule."""
    lines = [
        f"## {title}",
        "",
        "| rule | | judged | what the renderer does | evidence | tests |",
        "|---|---|---|---|---|---|",
    ]
    for rule in rules.values():
        judged = _JUDGED[rule.judged] + (f": {rule.note}" if rule.note else "")
        cells = (rule.id, rule.line, judged, rule.mend, f"{rule.grade} ({rule.source})", tests.get(rule.id, ""))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
