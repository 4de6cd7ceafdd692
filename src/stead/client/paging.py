"""Pages gone through, from the first one on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol


class Page[T](Protocol):
    """Some things, and from where to go on."""

    @property
    def items(self) -> tuple[T, ...]:
        """The things."""
        ...

    @property
    def next(self) -> str | None:
        """The cursor of the next page; None at the end."""
        ...


async def through[T](page: Callable[[str | None], Awaitable[Page[T]]]) -> AsyncGenerator[T]:
    """The things on all pages."""
    cursor: str | None = None
    while True:
        found = await page(cursor)
        for item in found.items:
            yield item
        if found.next is None:
            return
        cursor = found.next
