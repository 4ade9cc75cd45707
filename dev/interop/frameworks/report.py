"""What is wrong with a run, and its tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from catalogue import FRAMEWORKS, LOOKED, MODELS, ONCE, Framework, Model
from doors import DOORS, Door

MAY_HAVE_RUN = re.compile(r"may (already )?have (been )?(run|carried out|executed)", re.IGNORECASE)
DID_NOT_RUN = re.compile(r"did not run", re.IGNORECASE)
# What the retry loops of frameworks look for in an error.
REPEATED_FOR = re.compile(
    r"connection|closed|time(d )?out|refused|unavailable|temporarily|try again|terminated|fetch failed|not connected"
    r"|\b5\d\d\b",
    re.IGNORECASE,
)
SHOWN_WIDTH = 420


@dataclass(frozen=True)
class Played:
    """One write whose answer was lost."""

    framework: Framework
    door: Door
    form: str
    loss: str
    model: Model
    runs: int
    shown: list[str | None]
    raised: str | None
    seconds: float

    @property
    def words(self) -> str:
        """What the model was shown for its write, or what the framework raised instead."""
        if self.shown and self.shown[0] is not None:
            return self.shown[0]
        return f"nothing; the run ended by {self.raised}"

    @property
    def says_doubt(self) -> bool:
        return MAY_HAVE_RUN.search(self.words) is not None

    @property
    def is_denied(self) -> bool:
        """Whether the model is told of a write that ran that it did not."""
        return self.runs > 0 and any(shown is not None and DID_NOT_RUN.search(shown) for shown in self.shown)

    @property
    def was_looked(self) -> bool:
        """Whether `look` was answered: the framework's connection has outlived the fault."""
        return any(shown is not None and "paid " in shown for shown in self.shown[1:])

    @property
    def is_beyond_us(self) -> bool:
        """Whether the framework repeats a call in a new process of ours, which knows nothing of the one before."""
        # A result is not repeated by a framework, only by a model.
        is_repeated = self.form != "result" or self.model != ONCE
        return is_repeated and self.framework.is_new_each_call and self.door.is_started and self.runs > self.model.runs

    @property
    def is_held_after_look(self) -> bool:
        """Whether the framework has looked in another session than its repeat, which only it knows to be its own."""
        is_in_one_process = self.framework.is_new_each_call and not self.door.is_started
        return is_in_one_process and self.model == LOOKED and self.runs == 1

    @property
    def place(self) -> str:
        parts = [f"{self.framework.name} behind {self.door.name}", self.form, self.loss, self.model.name]
        return ", ".join(part for part in parts if part)


def faults(played: list[Played]) -> list[str]:
    """What may not be: a write that ran twice or never, or is denied, a call that hangs, words that loops repeat for."""
    found = []
    for each in (each for each in played if each.door.is_ours):
        if each.raised == "HUNG":
            found.append(f"hung: {each.place}")
        if each.runs != each.model.runs and not each.is_beyond_us and not each.is_held_after_look:
            found.append(f"ran {each.runs} times, not {each.model.runs}: {each.place}")
        if each.is_denied:
            found.append(f"says that it did not run, and it ran {each.runs} times: {each.place}")
        repeated_for = REPEATED_FOR.search(each.words)
        if each.framework.is_verbatim and repeated_for is not None:
            found.append(f"says `{repeated_for[0]}`, for which loops repeat: {each.place}")
    return found + silent_retries(played)


def limits(played: list[Played]) -> list[str]:
    """Writes that ran again in a process that could not know of the first, or were held although their caller looked."""
    again = [f"ran {each.runs} times, in a process each: {each.place}" for each in played if each.is_beyond_us]
    held = [each for each in played if each.is_held_after_look]
    return again + [f"held after a look, in a session each: {each.place}" for each in held]


def silent_retries(played: list[Played]) -> list[str]:
    """A framework that repeats nothing when it is alone proves nothing behind us: its retries are not on."""
    found = []
    for framework in present(played):
        alone = [each for each in played if each.framework == framework and not each.door.is_ours]
        if framework.repeats_alone and alone and all(each.runs < 2 for each in alone):
            found.append(f"its retries are not on: {framework.name} repeats nothing when it is alone")
    return found


def runs_table(played: list[Played]) -> str:
    """How often a write ran that the model called once: the worst of all losses."""
    return by_door([each for each in played if each.model == ONCE], worst)


def models_table(played: list[Played]) -> str:
    """How often a write ran for each of the other models."""

    def cell(those: list[Played]) -> str:
        counts = [worst([each for each in those if each.model == model]) for model in MODELS if model != ONCE]
        return " / ".join(counts)

    return by_door([each for each in played if each.model != ONCE], cell)


def by_door(played: list[Played], cell: Callable[[list[Played]], str]) -> str:
    """A table with a row for each framework and a column for each door."""
    doors = [door for door in DOORS if any(each.door == door for each in played)]
    heads = ["", *(f"`{door.name}`" if door.command else door.name for door in doors)]
    lines = [row(heads), row(["---"] * len(heads))]
    for framework in present(played):
        cells = []
        for door in doors:
            those = [each for each in played if each.framework == framework and each.door == door]
            cells.append(cell(those) if those else "")
        lines.append(row([title(framework), *cells]))
    return "\n".join(lines)


def worst(played: list[Played]) -> str:
    """The most runs of each form, with the losses that had them if others had fewer."""
    parts: dict[str, str] = {}
    for form in dict.fromkeys(each.form for each in played):
        those = [each for each in played if each.form == form]
        most = max(each.runs for each in those)
        losses = [each.loss for each in those if each.runs == most]
        parts[form] = str(most) if len(losses) == len(those) else f"{most} ({', '.join(losses)})"
    if len(set(parts.values())) == 1:
        return next(iter(parts.values()))
    return "; ".join(f"{form} {what}" for form, what in parts.items())


def shown_table(played: list[Played]) -> str:
    """What the model of each framework reads after the first loss of the first door that has the form."""
    ours = [each for each in played if each.door.is_ours and each.model == ONCE]
    heads = ["", "doubt", "what its model reads", "says that it may have run", "then looked"]
    lines = [row(heads), row(["---"] * len(heads))]
    for framework in present(ours):
        name = title(framework)
        for (form, is_package), words in FORMS.items():
            those = [each for each in ours if (each.form, each.door.is_package) == (form, is_package)]
            its = [each for each in those if each.framework == framework]
            if its:
                said, looked = sum(each.says_doubt for each in its), sum(each.was_looked for each in its)
                lines.append(
                    row([name, words, quoted(its[0].words), f"{said} of {len(its)}", f"{looked} of {len(its)}"])
                )
                name = ""
    return "\n".join(lines)


FORMS = {
    ("result", False): "a result",
    ("error", False): "an error",
    ("result", True): "a result, over the package",
    ("error", True): "an error, over the package",
}


def present(played: list[Played]) -> list[Framework]:
    return [framework for framework in FRAMEWORKS if any(each.framework == framework for each in played)]


def title(framework: Framework) -> str:
    return f"{framework.name}<br>`{framework.package}` {framework.version}"


def quoted(words: str) -> str:
    line = " ".join(words.split()).replace("`", "'").replace("|", "\\|")
    return f"`{line[:SHOWN_WIDTH]}{'…' if len(line) > SHOWN_WIDTH else ''}`"


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
