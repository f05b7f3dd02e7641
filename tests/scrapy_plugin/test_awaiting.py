"""Waiting for room."""

import asyncio

from dedup.scrapy_plugin.awaiting import Backlog


def test_who_comes_while_there_is_much_under_way_waits_until_there_is_less():
    async def run() -> list[str]:
        events, backlog = [], Backlog(2)

        async def visitor(name: str) -> None:
            await backlog.wait_for_room()
            events.append(name)

        with backlog.one_more():
            await visitor("first")
            with backlog.one_more():
                waiting = [asyncio.create_task(visitor(name)) for name in ("second", "third")]
                await asyncio.sleep(0.01)
                events.append("less")
            await asyncio.sleep(0.01)
        await asyncio.gather(*waiting)
        return events

    assert asyncio.run(run()) == ["first", "less", "second", "third"]


def test_who_is_woken_and_begins_nothing_keeps_nobody_waiting():
    async def run() -> int:
        backlog = Backlog(1)
        with backlog.one_more():
            waiting = [asyncio.create_task(backlog.wait_for_room()) for _ in range(5)]
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        left = sum(not task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        return left

    assert asyncio.run(run()) == 0
