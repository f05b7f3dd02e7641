"""Runs tests that are coroutines."""

import asyncio
from inspect import iscoroutinefunction

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine in an event loop of its own, in which what it has used is closed, too."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def run() -> None:
        try:
            await pyfuncitem.obj(**arguments)
        finally:
            for argument in arguments.values():
                if hasattr(argument, "aclose"):
                    await argument.aclose()

    asyncio.run(run())
    return True
