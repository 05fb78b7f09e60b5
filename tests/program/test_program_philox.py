"""The random numbers of the kernels, against the algorithm's published vectors."""

import numpy as np
import pytest

from ascend_fuse.program.philox import keep_mask, philox, uniform

# Known answers of Random123 1.14 (kat_vectors): counter, key, result.
VECTORS = [
    ((0, 0, 0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, 0xFFFFFFFFFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        0x299F31D0A4093822,
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "wanted"), VECTORS)
def test_known_answers(counter: tuple[int, ...], key: int, wanted: tuple[int, ...]) -> None:
    c0, c1, c2, c3 = (np.array([c], np.uint64) for c in counter)
    assert tuple(int(w[0]) for w in philox((c0, c1, c2, c3), key)) == wanted


def test_masks_keep_their_share_and_differ_by_run() -> None:
    first, second = keep_mask((1000, 1000), 0.3, 7, 1), keep_mask((1000, 1000), 0.3, 7, 2)
    assert abs(first.mean() - 0.7) < 0.002
    assert abs((first & second).mean() - 0.49) < 0.002
    assert (keep_mask((5, 3), 0.3, 7, 1).ravel() == first.ravel()[:15]).all()


def test_numbers_and_masks_are_of_the_same_words() -> None:
    numbers = uniform((5, 7), 3, 1)
    assert numbers.dtype == np.float32
    assert 0 <= numbers.min() < numbers.max() < 1
    np.testing.assert_array_equal(numbers >= 0.5, keep_mask((5, 7), 0.5, 3, 1))
    np.testing.assert_array_equal(numbers * 2.0**24 % 1, np.zeros((5, 7)))
