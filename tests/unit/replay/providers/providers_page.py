"""`docs/providers.md`: the rule tables beside the tests of each rule; `python -m` this writes it anew."""

from __future__ import annotations

from typing import Any, NamedTuple

from replay.providers.rules import (
    Judged,
    Rules,
    ai_sdk,
    bedrock,
    gemini,
    mistral,
    openai_chat,
    openai_responses,
    pydantic_ai,
)
from replay.providers.rules.anthropic import RULES, UNPROBED
from replay.providers.rules.page import section
from replay.render import targets
from tests.conformance import REPOSITORY
from tests.unit.replay.providers import (
    test_ai_sdk,
    test_bedrock,
    test_gemini,
    test_openai_responses,
    test_pydantic_ai,
)
from tests.unit.replay.providers.anthropic_rows import BAD
from tests.unit.replay.providers.coverage import Section, coverage
from tests.unit.replay.providers.test_mistral import BAD as BAD_MISTRAL
from tests.unit.replay.providers.test_openai_chat_rules import BAD as BAD_CHAT


class Tested(NamedTuple):
    """A target's section: its rules, and the tests of them.

    `rows` are the rule ids of each bad history, `mends` the rule that is broken when a mend of the renderer is
    switched off, a mend each; both stand in `tests/unit/replay/providers/{file}.py`.
    """

    title: str
    rules: Rules
    file: str
    rows: list[list[str]]
    mends: list[str]


def _tested(title: str, rules: Rules, tests: Any) -> Tested:
    file = tests.__name__.rpartition(".")[2]
    rows = [row[0].split() for row in (*tests.BAD, *getattr(tests, "BESIDE", []))]
    mends = [*tests.MENDS, *getattr(tests, "CALL_MENDS", [])]
    return Tested(title, rules, file, rows, [rule for mend in mends for rule in mend[-1].split()])


TESTED = [
    _tested("Bedrock Converse", bedrock.RULES, test_bedrock),
    _tested("Gemini", gemini.RULES, test_gemini),
    _tested("OpenAI Responses", openai_responses.RULES, test_openai_responses),
    _tested("Vercel AI SDK (v5 to v7)", ai_sdk.RULES, test_ai_sdk),
    _tested("pydantic-ai", pydantic_ai.RULES, test_pydantic_ai),
]
"""Targets whose tests say what they test: rows `BAD` that begin with rule ids, `MENDS` that end with one."""

PAGE = REPOSITORY / "docs" / "providers.md"

# Rule -> the test in test_anthropic_render.py that shows its mend.
MENDS = {
    "X1": "test_an_unanswered_call_gets_an_error_result",
    "X2": "test_a_late_result_is_text_where_it_came",
    "X3": "test_thinking_of_another_maker_is_left_out",
    "X4": "test_blank_text_is_left_out_and_other_text_keeps_its_bytes",
    "X5": "test_a_history_that_ends_with_the_assistant_is_not_sendable_and_says_so",
    "X6": "test_arguments_that_are_no_object_become_one",
    "X7": "test_rendering_twice_gives_the_same_and_changes_nothing",
    "X8": "test_a_running_call_stays_open_and_is_not_sendable",
    "A1": "test_results_come_first_in_call_order_and_text_after",
    "A1b": "test_an_unanswered_call_gets_an_error_result",
    "A2": "test_a_late_result_is_text_where_it_came",
    "A3": "test_one_result_a_call",
    "A4": "test_empty_and_doubled_ids_stay_apart",
    "A5": "test_ids_of_other_formats_are_renamed_alike_in_call_and_result",
    "A6": "test_arguments_that_are_no_object_become_one",
    "A7": "test_a_history_that_starts_with_the_assistant_gets_an_anchor",
    "A8": "test_neighbours_of_one_role_are_one_message",
    "A9": "test_a_history_that_ends_with_the_assistant_is_not_sendable_and_says_so",
    "A10": "test_blank_text_is_left_out_and_other_text_keeps_its_bytes",
    "A11": "test_blank_text_is_left_out_and_other_text_keeps_its_bytes",
    "A11b": "test_nothing_to_send_is_not_sendable",
    "A11c": "test_a_history_that_ends_with_the_assistant_is_not_sendable_and_says_so",
    "A11d": "test_a_step_with_nothing_to_send_is_left_out",
    "A13": "test_where_thinking_is_bound_to_its_prefix_no_later_thinking_is_sent",
    "A20": "test_unsigned_thinking_is_left_out_and_never_text",
    "A21": "test_thinking_of_another_maker_is_left_out",
    "A22": "test_a_step_that_lost_some_thinking_sends_none_and_so_does_the_rest_of_its_turn",
    "A23": "test_thinking_whose_separator_is_gone_is_left_out",
    "A24": "test_manual_thinking_goes_off_when_the_open_loop_did_not_start_with_it",
    "A25": "test_manual_thinking_comes_first_in_its_message_or_not_at_all",
    "A26": "test_a_thinking_only_step_stays_before_a_user_message_and_goes_before_another_step",
    "A27": "test_a_forced_tool_goes_only_where_it_is_taken",
    "A29": "test_cache_points_are_not_carried_over",
    "A30": "test_an_error_result_holds_text_and_its_images_stand_behind_the_results",
    "A31": "test_results_are_strings_or_blocks",
    "A32": "test_provider_executed_blocks_that_cannot_go_back_are_left_out_in_pairs",
    "A33": "test_provider_executed_blocks_that_cannot_go_back_are_left_out_in_pairs",
    "A34": "test_a_system_message_amid_the_history_is_tagged_user_text",
    "A40": "test_cache_points_are_not_carried_over",
    "A41": "test_a_tool_name_that_the_provider_refuses_is_renamed_like_its_definition",
    "S1": "test_lone_surrogates_are_replaced_everywhere",
    "S3": "test_thinking_is_of_a_type_that_the_model_takes",
    "A12": "test_bound_thinking_of_another_context_is_left_out_and_all_after_it",
    "A14": "test_a_model_reads_the_thinking_of_those_that_the_table_names",
    "A16": "test_a_binding_stands_beside_adaptive_thinking_only",
    "A37": "test_what_stands_before_a_seam_is_left_out_with_all_thinking_of_the_step",
    "A38": "test_a_compaction_goes_back_to_its_maker_as_its_own_block",
    "A42": "test_web_citations_go_back_with_their_results",
    "A43": "test_a_toolset_and_a_direct_caller_are_kept",
    "A44": "test_more_messages_than_the_provider_takes_are_not_sendable",
    "A15": "test_a_system_message_amid_the_history_is_tagged_user_text",
    "A17": "test_signed_and_redacted_thinking_goes_back_as_it_came",
    "A28": "test_signed_and_redacted_thinking_goes_back_as_it_came",
    "A35": "test_a_search_that_goes_on_in_the_next_response_stays_whole",
    "A36": "test_arguments_that_are_no_object_become_one",
    "A39": "test_rendering_twice_gives_the_same_and_changes_nothing",
}

# The same for test_openai_chat_render.py.
CHAT_MENDS = {
    "X5": "test_the_models_own_end_is_not_sendable",
    "O1": "test_a_step_is_one_message_and_its_results_stand_behind_it",
    "O2": "test_a_step_is_one_message_and_its_results_stand_behind_it",
    "O3": "test_hosted_blocks_blank_texts_and_thinking_alone_are_left_out_and_said",
    "O4": "test_hosted_blocks_blank_texts_and_thinking_alone_are_left_out_and_said",
    "O5": "test_without_a_mend_the_judge_finds_the_fault",
    "O6": "test_without_a_mend_the_judge_finds_the_fault",
    "O7": "test_without_a_mend_the_judge_finds_the_fault",
    "O8": "test_hosted_blocks_blank_texts_and_thinking_alone_are_left_out_and_said",
    **dict.fromkeys(
        ["O20", "O22", "O23"], "test_reasoning_of_others_stays_out_and_a_filler_stands_where_one_must"
    ),
    **dict.fromkeys(
        ["O21", "O24", "O25", "O26", "O28"], "test_reasoning_goes_back_where_a_dialect_has_a_field_for_it"
    ),
    "O27": "test_geminis_signatures_go_back_on_their_calls",
    "S1": "test_without_a_mend_the_judge_finds_the_fault",
}

_INTRODUCTION = """# Provider rules

What makes a provider refuse a replayed history, how that is judged, and what the renderer does about it.
Rendering and judging share no code: `replay.violations(target, request)` reads a finished request and names
the rules that it breaks; whatever a ledger holds, a rendered request breaks none. Some rules cannot be seen
in a request: they say so.

Rule ids are those of the facts this was built from; evidence is `D` vendor documentation, `L` a live probe,
`W` seen in the wild, `C` encoded in a well-kept adapter, `m` from memory. Rules that nobody is known to have
probed live: {unprobed}.

Targets so far: {targets}. A later one is a rule table in `replay/providers/rules`, a judge in
`replay/providers/judges`, a renderer in `replay/providers`, and a line in the registry
(`replay/providers/__init__.py`).

This page is made from the tables; tests in the last column are in `tests/unit/replay/providers`: rows of
`test_anthropic_rules.py` (`test_openai_chat_rules.py`), and the mend's own test in `test_anthropic_render.py`
or `test_anthropic_settings.py` or `test_anthropic_special.py`
(`test_openai_chat_render.py`); `test_mistral.py` has both. A mend that is switched off is one of the renderer's
that a test takes out, and the judge (or the test) then finds that rule broken.

"""


def sections() -> list[Section]:
    """All tables with what tests their rules."""
    nine = tests_of(
        mistral.RULES,
        [rules.split() for rules, _, _ in BAD_MISTRAL],
        {"M1": "test_without_a_mend_the_judge_finds_the_fault", "M3": "test_a_request", "M6": "test_a_request"},
    )
    anthropic = tests_of(RULES, [list(row.rules) for row in BAD], MENDS)
    chat = tests_of(openai_chat.RULES, [rule.split() for rule, _, _ in BAD_CHAT], CHAT_MENDS)
    return [
        Section("Anthropic Messages", RULES, anthropic),
        Section("OpenAI Chat Completions and its dialects", openai_chat.RULES, chat),
        Section("Mistral", mistral.RULES, nine),
        *(Section(one.title, one.rules, told(one)) for one in TESTED),
    ]


def document() -> str:
    """The page."""
    tables = sections()
    opened = _INTRODUCTION.format(
        unprobed=", ".join(name for name in RULES if name in UNPROBED),
        targets=", ".join(f"`{name}`" for name in targets()),
    )
    return opened + "\n".join([*(section(*one) for one in tables), coverage(tables)])


def told(one: Tested) -> dict[str, str]:
    """What the page says of each rule's tests."""
    said: dict[str, str] = {}
    for name, rule in one.rules.items():
        rows, mends = (sum(name in row for row in one.rows), one.mends.count(name))
        parts = [f"{rows} bad row{'s' * (rows > 1)}"] if rows else []
        parts += [f"{mends} mend{'s' * (mends > 1)} switched off"] if mends else []
        if not parts and rule.judged is Judged.ORIGINAL:
            parts = ["beside the responses"]
        said[name] = f"{', '.join(parts)} in `{one.file}`" if parts else ""
    return said


def tests_of(rules: Rules, rows: list[list[str]], mends: dict[str, str]) -> dict[str, str]:
    """The tests of each rule: how many bad rows name it, and the test of its mend."""
    counts = {name: sum(name in row for row in rows) for name in rules}
    return {
        name: ", ".join(
            ([f"{count} bad row{'s' * (count > 1)}"] if (count := counts[name]) else [])
            + ([f"`{mends[name]}`"] if name in mends else [])
        )
        for name in rules
    }


if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
