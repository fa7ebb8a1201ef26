"""Work that many asyncio tasks do at once."""

import asyncio

COUNT = 50


def pause():
    """Let the other tasks go on."""
    return asyncio.sleep(0)


def together(work, count=COUNT):
    """The results of work(0), work(1), …, each in its own task.

    A task goes on when the others pause.
    """

    async def all_of_them():
        return await asyncio.gather(*map(work, range(count)))

    return asyncio.run(all_of_them())


def types(graph):
    return [op.type for op in graph.operations]
