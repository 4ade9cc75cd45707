"""What the judge calls a fault. `python3 -m unittest discover -s dev/interop/frameworks` runs it."""

from __future__ import annotations

import dataclasses
import unittest

from catalogue import FRAMEWORKS, LOOKED, MODELS, ONCE
from doors import DOORS
from report import Played, faults, limits, models_table, runs_table, shown_table, worst

ALONE, BRIDGE, GATEWAY = DOORS[0], DOORS[1], DOORS[2]
MASTRA = FRAMEWORKS[-1]
RAN = "The tool may have run."


def played(**other: object) -> Played:
    one = Played(MASTRA, BRIDGE, "result", "reset", ONCE, 1, [RAN, "paid 1 time"], None, 0.1)
    return dataclasses.replace(one, **other)  # type: ignore[arg-type]


class Faults(unittest.TestCase):
    def test_a_write_that_ran_once_behind_us_is_no_fault(self) -> None:
        self.assertEqual(faults([played()]), [])

    def test_a_write_that_ran_twice_or_never_behind_us_is_a_fault(self) -> None:
        for runs in (0, 2):
            self.assertEqual(len(faults([played(runs=runs)])), 1, runs)

    def test_a_framework_that_repeats_when_it_is_alone_is_no_fault_of_ours(self) -> None:
        self.assertEqual(faults([played(door=ALONE, form="", runs=3)]), [])

    def test_a_framework_whose_retries_are_not_on_proves_nothing(self) -> None:
        found = faults([played(), played(door=ALONE, form="", runs=1)])

        self.assertEqual(len(found), 1)
        self.assertIn("its retries are not on", found[0])

    def test_a_call_without_an_end_is_a_fault(self) -> None:
        self.assertEqual(len(faults([played(raised="HUNG", shown=[])])), 1)

    def test_a_write_that_ran_and_is_denied_is_a_fault(self) -> None:
        denied = played(shown=["raised McpError: the server did not run it", "paid 1 time"])

        self.assertEqual(len(faults([denied])), 1)
        self.assertEqual(faults([dataclasses.replace(denied, door=ALONE, runs=2)]), [])

    def test_a_model_that_calls_again_at_once_gets_no_second_run(self) -> None:
        again = next(model for model in MODELS if model.name == "calls again at once")

        self.assertEqual(len(faults([played(model=again, runs=2)])), 1)

    def test_a_model_that_has_looked_gets_its_second_run(self) -> None:
        self.assertEqual(faults([played(model=LOOKED, runs=2)]), [])
        self.assertEqual(len(faults([played(model=LOOKED, runs=1)])), 1)

    def test_a_session_for_each_call_cannot_show_who_has_looked(self) -> None:
        anew = dataclasses.replace(MASTRA, is_new_each_call=True)
        held = played(framework=anew, door=GATEWAY, model=LOOKED, runs=1)

        self.assertEqual((faults([held]), len(limits([held]))), ([], 1))
        self.assertEqual(len(faults([dataclasses.replace(held, door=BRIDGE)])), 1)
        self.assertEqual(len(faults([dataclasses.replace(held, runs=3)])), 1)

    def test_a_process_for_each_call_cannot_hold_a_repeat(self) -> None:
        anew = dataclasses.replace(MASTRA, is_new_each_call=True)
        twice = played(framework=anew, runs=2, form="error")

        self.assertEqual((faults([twice]), len(limits([twice]))), ([], 1))
        self.assertEqual(len(faults([dataclasses.replace(twice, door=GATEWAY)])), 1)
        self.assertEqual(len(faults([dataclasses.replace(twice, runs=0)])), 1)
        self.assertEqual(len(faults([dataclasses.replace(twice, form="result")])), 1)

    def test_words_for_which_loops_repeat_are_a_fault_where_they_are_ours(self) -> None:
        ours = played(shown=["connection closed", "paid 1 time"])
        not_ours = dataclasses.replace(MASTRA, is_verbatim=False)

        self.assertEqual(len(faults([ours])), 1)
        self.assertEqual(faults([dataclasses.replace(ours, framework=not_ours)]), [])

    def test_the_code_of_doubt_is_no_status(self) -> None:
        self.assertEqual(faults([played(shown=["raised McpError: MCP error -32050: it may have run"])]), [])


class Tables(unittest.TestCase):
    def test_a_cell_names_the_losses_and_the_forms_that_are_worse(self) -> None:
        cells = [
            played(runs=1),
            played(runs=1, loss="stream"),
            played(form="error", runs=1),
            played(form="error", runs=2, loss="stream"),
        ]

        self.assertEqual(worst(cells), "result 1; error 2 (stream)")

    def test_each_table_has_a_row_for_each_framework(self) -> None:
        cells = [played(), *(played(model=model) for model in MODELS)]

        for table in (runs_table, models_table, shown_table):
            self.assertIn("`@mastra/mcp`", table(cells))

    def test_what_is_shown_over_the_package_has_rows_of_its_own(self) -> None:
        package = next(door for door in DOORS if door.is_package)
        agents = FRAMEWORKS[0]

        table = shown_table([played(framework=agents), played(framework=agents, door=package, shown=["Look first."])])

        self.assertIn("| a result | `The tool may have run.` |", table)
        self.assertIn("| a result, over the package | `Look first.` |", table)

    def test_every_version_is_pinned(self) -> None:
        for framework in FRAMEWORKS:
            self.assertRegex(framework.version, r"^\d+\.\d+", framework.name)
