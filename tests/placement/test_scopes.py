"""Contexts that are left in another order than entered, twice, elsewhere, or not at all."""

import asyncio
import contextvars
import threading

import pytest

import weft
from support import OTHER

SCOPES = [
    (lambda: (weft.device_context(OTHER), weft.device_context("native")), weft.current_queue, None),
    (lambda: (weft.placement("context"), weft.placement("queue")), weft._placement._by_context.get, False),
]


@pytest.fixture(params=SCOPES, ids=["device_context", "placement"])
def scopes(request):
    """Two scopes, what is in force, and what is where no scope is open."""
    make, current, otherwise = request.param
    assert current() is otherwise
    yield make, current, otherwise
    assert current() is otherwise


# spec: A1
def test_another_order_is_refused_and_leaves_nothing_behind(scopes):
    make, current, otherwise = scopes
    first, second = make()
    first.__enter__()
    second.__enter__()
    inner = current()
    with pytest.raises(RuntimeError) as caught:
        first.__exit__(None, None, None)
    assert str(caught.value) == (
        f"{first!r} is left before {second!r}, which was entered after it: leave scopes in the opposite order, as "
        "nested `with` statements do"
    )
    assert current() is inner
    with pytest.raises(RuntimeError, match="is left, and was not entered in this thread or async task"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert current() is otherwise


# spec: A1
def test_leaving_without_entering(scopes):
    make, current, otherwise = scopes
    first, second = make()
    with pytest.raises(RuntimeError, match=r"is left, and was not entered in this thread or async task"):
        first.__exit__(None, None, None)
    with second, pytest.raises(RuntimeError, match="was not entered"):
        first.__exit__(None, None, None)
    assert current() is otherwise


# spec: A1
def test_one_scope_entered_twice_and_by_several_threads(scopes):
    make, current, otherwise = scopes
    first, second = make()
    with first, second, first:
        with first:
            pass
        outer = current()
    assert current() is otherwise
    seen, meet = [], threading.Barrier(3)

    def enter():
        meet.wait()
        for _ in range(50):
            with first, second, first:
                seen.append(current() == outer)
        seen.append(current() is otherwise)

    threads = [threading.Thread(target=enter) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 153 and all(seen)


# spec: A1
def test_leaving_elsewhere(scopes):
    make, current, otherwise = scopes
    first, _ = make()
    caught = []

    def leave():
        try:
            first.__exit__(None, None, None)
        except RuntimeError as error:
            caught.append(str(error))

    with first:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
        # As an async task that begins here does.
        contextvars.copy_context().run(leave)
        assert current() is not otherwise
    assert caught == [
        f"{first!r} is left, and was not entered in this thread or async task",
        f"{first!r} is left in another thread or async task than the one that entered it",
    ]


# spec: A1
def test_generators_that_are_suspended_inside(scopes):
    make, current, otherwise = scopes
    first, second = make()

    def inside(scope):
        with scope:
            yield current()

    one, other = inside(first), inside(second)
    next(one)
    next(other)
    with pytest.raises(RuntimeError, match="is left before"):
        one.close()
    other.close()
    assert current() is otherwise
    one, other = inside(first), inside(second)
    next(one), next(other)
    other.close()
    one.close()


# spec: A1
def test_tasks_that_are_suspended_inside(scopes):
    make, current, otherwise = scopes
    first, second = make()

    async def inside(scope, turns):
        with scope:
            mine = current()
            for _ in range(turns):
                await asyncio.sleep(0)
                assert current() is mine
        return current()

    async def main():
        with first:
            outer = current()
            ended = await asyncio.gather(inside(second, 5), inside(first, 2), inside(second, 3))
            assert all(after is outer for after in ended)
            # A task that outlives the scope that it began in keeps it, as all that contextvars hold.
            late = asyncio.ensure_future(inside(second, 4))
            await asyncio.sleep(0)
        assert current() is otherwise
        assert await late is outer

    asyncio.run(main())
