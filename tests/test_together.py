"""Many that ask alone are answered together, and each gets its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stead.batcher import Batcher


async def test_whoever_comes_meanwhile_goes_with_the_next() -> None:
    batches: list[list[int]] = []

    async def double(numbers: Sequence[int]) -> list[int]:
        batches.append(list(numbers))
        await asyncio.sleep(0.01)
        return [2 * n for n in numbers]

    together = Batcher(double, 4)
    first = asyncio.create_task(together(0))
    await asyncio.sleep(0.001)
    rest = await asyncio.gather(*(together(n) for n in range(1, 8)))
    assert (await first, rest) == (0, [2, 4, 6, 8, 10, 12, 14])
    assert batches == [[0], [1, 2, 3, 4], [5, 6, 7]]


async def test_a_batch_is_full_by_the_size_of_what_is_in_it() -> None:
    batches: list[list[str]] = []

    async def note(words: Sequence[str]) -> Sequence[str]:
        batches.append(list(words))
        return words

    together = Batcher(note, 5, size=len)
    await asyncio.gather(*map(together, ["abcdefg", "ab", "abc", "a", "abcd", "abcd"]))
    assert batches == [["abcdefg"], ["ab", "abc"], ["a", "abcd"], ["abcd"]]


async def test_nobody_is_forgotten_who_comes_when_a_batch_ends() -> None:
    async def echo(numbers: Sequence[int]) -> Sequence[int]:
        return numbers

    together = Batcher(echo, 10)
    for n in range(100):
        assert await asyncio.wait_for(together(n), 60) == n  # right after the one before was answered


async def test_one_that_fails_fails_alone() -> None:
    async def half(numbers: Sequence[int]) -> list[float]:
        return [1 / n for n in numbers]

    answers = await asyncio.gather(*map(Batcher(half, 10), [1, 0, 2]), return_exceptions=True)
    assert (answers[0], answers[2]) == (1, 0.5)
    assert isinstance(answers[1], ZeroDivisionError)


async def test_a_caller_that_has_gone_is_not_worked_for() -> None:
    seen: list[int] = []

    async def note(numbers: Sequence[int]) -> list[int]:
        seen.extend(numbers)
        await asyncio.sleep(0.01)
        return list(numbers)

    together = Batcher(note, 10)
    first = asyncio.create_task(together(1))
    await asyncio.sleep(0)
    gone = asyncio.create_task(together(2))
    await asyncio.sleep(0.001)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert (await first, await together(3), seen) == (1, 3, [1, 3])
