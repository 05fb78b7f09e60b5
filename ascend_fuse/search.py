"""The smallest sets of elements that break something, with few tests (docs/design/0012)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log2

from ascend_fuse.error import UsageError

MAX_CULPRITS = 8


class Answer(StrEnum):
    """What a test says: nothing breaks, something does, or it cannot tell."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


Test = Callable[[frozenset[int]], Answer]
Tell = Callable[[int], None]  # how many tests are left, about


@dataclass(frozen=True, slots=True)
class Culprit:
    """Elements that break together. `is_minimal`: without any one of them nothing breaks; else a test was skipped."""

    elements: tuple[int, ...]
    is_minimal: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Culprits without an element in common; `is_complete`: without all of them nothing breaks."""

    culprits: tuple[Culprit, ...]
    is_complete: bool


def _from_middle(low: int, high: int) -> list[int]:
    """What lies between, the middle first."""
    return sorted(range(low + 1, high), key=lambda k: (abs(2 * k - low - high), k))


def unsteady(before: Answer, now: Answer) -> UsageError:
    """That one model got two answers."""
    what = f"the same model was {before} once and {now} once: no search finds what breaks it"
    return UsageError(what, where="bisect", do="make the evaluation repeatable (seeds, threads, a looser limit)")


class Search:
    """Asks `test` about each subset once.

    `tell` hears before each test how many are left for the culprit that is looked for.
    """

    def __init__(self, test: Test, tell: Tell) -> None:
        self._test, self._tell = test, tell
        self._known: dict[frozenset[int], Answer] = {}

    def ask(self, elements: Sequence[int] | frozenset[int], left: int = 0) -> Answer:
        """What the test says of these elements alone."""
        key = frozenset(elements)
        if key not in self._known:
            self._tell(left)
            self._known[key] = self._test(key)
        return self._known[key]

    def learn(self, elements: Sequence[int], answer: Answer) -> None:
        """Take an answer that is known already."""
        self._known[frozenset(elements)] = answer

    def confirm(self, elements: Sequence[int]) -> None:
        """Ask again. Raises UsageError when the answer is another one."""
        key = frozenset(elements)
        before, now = self.ask(key), self._test(key)
        if before is not now:
            raise unsteady(before, now)

    def find(self, elements: Sequence[int], most: int = MAX_CULPRITS) -> Found:
        """The culprits among the elements, which break together; no element alone does not."""
        left = tuple(elements)
        culprits: list[Culprit] = []
        while self.ask(left, self._most(len(left))) is Answer.BAD:
            if len(culprits) == most:
                return Found(tuple(culprits), False)
            culprit = self._minimal(left)
            culprits.append(culprit)
            left = tuple(e for e in left if e not in culprit.elements)
        return Found(tuple(culprits), self.ask(left) is Answer.GOOD)

    def _minimal(self, elements: tuple[int, ...]) -> Culprit:
        """One culprit: the last element that is needed behind those before it, then the last before that, and so on.

        The elements that are needed and those not yet looked at break together, at any time.
        """
        needed: tuple[int, ...] = ()
        while elements and self.ask(needed, self._most(len(elements))) is not Answer.BAD:
            low, high = self._border(elements, needed)
            needed += elements[low:high]
            elements = elements[:low]
        return self._shrunk(tuple(sorted(needed)))

    def _border(self, elements: tuple[int, ...], needed: tuple[int, ...]) -> tuple[int, int]:
        """How many of the first elements do not break with those needed, and how many do: one more unless skipped."""
        low, high = 0, len(elements)
        while high - low > 1:
            for at in _from_middle(low, high):
                answer = self.ask((*needed, *elements[:at]), self._most(high - low))
                if answer is not Answer.SKIP:
                    low, high = (low, at) if answer is Answer.BAD else (at, high)
                    break
            else:
                break
        return low, high

    def _shrunk(self, elements: tuple[int, ...]) -> Culprit:
        """Without elements that are not needed, as tests need not say more of more elements."""
        at, skipped = 0, False
        while len(elements) > 1 and at < len(elements):
            fewer = elements[:at] + elements[at + 1 :]
            answer = self.ask(fewer, len(elements) - at)
            if answer is Answer.BAD:
                elements, at, skipped = fewer, 0, False
            else:
                at, skipped = at + 1, skipped or answer is Answer.SKIP
        return Culprit(elements, not skipped)

    @staticmethod
    def _most(count: int) -> int:
        """Tests for one culprit of one element among so many."""
        return ceil(log2(count)) + 1 if count > 1 else 1
