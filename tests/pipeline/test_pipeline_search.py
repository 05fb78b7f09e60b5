"""The search behind `bisect`: minimal sets, few tests, skipped and unsteady answers."""

from __future__ import annotations

from math import ceil, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_fuse.error import UsageError
from ascend_fuse.search import Answer, Search


def nothing(left: int) -> None:
    """Nobody asks."""


class Counted:
    """Breaks where it holds one of the sets; every subset that was asked."""

    def __init__(self, *broken: set[int], skipped: frozenset[int] = frozenset()) -> None:
        self.broken, self.skipped = broken, skipped
        self.asked: list[frozenset[int]] = []

    def __call__(self, elements: frozenset[int]) -> Answer:
        self.asked.append(elements)
        if len(elements) in self.skipped:
            return Answer.SKIP
        return Answer.BAD if any(b <= elements for b in self.broken) else Answer.GOOD


@given(st.integers(1, 300), st.data())
@settings(max_examples=80, deadline=None)
def test_one_culprit_takes_as_many_tests_as_halvings(count: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(0, count - 1))
    test = Counted({culprit})
    found = Search(test, nothing).find(range(count))
    assert [c.elements for c in found.culprits] == [(culprit,)]
    assert found.is_complete and found.culprits[0].is_minimal
    # all, halves, nothing, the one by itself, all others
    assert len(test.asked) <= ceil(log2(count)) + 4
    assert len(set(test.asked)) == len(test.asked)


@given(st.integers(1, 40), st.lists(st.sets(st.integers(0, 39), min_size=1, max_size=4), max_size=5))
@settings(max_examples=150, deadline=None)
def test_every_culprit_is_minimal_and_without_them_nothing_breaks(count: int, sets: list[set[int]]) -> None:
    sets = [{e % count for e in s} for s in sets]
    test = Counted(*sets)
    found = Search(test, nothing).find(range(count), most=len(sets))
    taken: set[int] = set()
    for culprit in found.culprits:
        elements = frozenset(culprit.elements)
        assert test(elements) is Answer.BAD
        assert all(test(elements - {e}) is Answer.GOOD for e in elements)
        assert not taken & elements
        taken |= elements
    assert found.is_complete
    assert test(frozenset(range(count)) - taken) is Answer.GOOD


@given(st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_a_test_without_order_still_gives_what_breaks_by_itself(seed: int, count: int) -> None:
    """Answers that follow from nothing: more elements may break less."""

    def test(elements: frozenset[int]) -> Answer:
        return Answer.GOOD if not elements or hash((seed, tuple(sorted(elements)))) % 3 else Answer.BAD

    for culprit in Search(test, nothing).find(range(count)).culprits:
        elements = frozenset(culprit.elements)
        assert test(elements) is Answer.BAD
        assert all(test(elements - {e}) is Answer.GOOD for e in elements)


def test_skipped_subsets_are_gone_around() -> None:
    found = Search(Counted({5}, skipped=frozenset({8, 4, 7})), nothing).find(range(16))
    assert found.culprits[0].elements == (5,)
    assert found.culprits[0].is_minimal


def test_what_cannot_be_told_apart_stays_together() -> None:
    found = Search(Counted({5}, skipped=frozenset(range(1, 16))), nothing).find(range(16))
    assert found.culprits[0].elements == tuple(range(16))
    assert not found.culprits[0].is_minimal


def test_culprits_are_counted() -> None:
    test = Counted(*({k} for k in range(0, 20, 2)))
    assert [c.elements for c in Search(test, nothing).find(range(20), most=3).culprits] == [(0,), (2,), (4,)]
    assert not Search(test, nothing).find(range(20), most=3).is_complete


def test_nothing_breaks() -> None:
    test = Counted()
    found = Search(test, nothing).find(range(9))
    assert (found.culprits, found.is_complete, len(test.asked)) == ((), True, 1)


def test_an_answer_that_changes_is_no_answer() -> None:
    answers = iter([Answer.GOOD, Answer.BAD])
    search = Search(lambda elements: next(answers), nothing)
    with pytest.raises(UsageError, match="good once and bad once"):
        search.confirm([1])


def test_how_many_tests_are_left_goes_down() -> None:
    left: list[int] = []
    Search(Counted({6}), left.append).find(range(64))
    assert left[0] == 7 and left[1:8] == sorted(left[1:8], reverse=True)
