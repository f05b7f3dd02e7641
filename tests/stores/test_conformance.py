"""What fleets of real processes have stored, over each log; and that the suite sees what is wrong.

`benchmarks/fleet.py` has the long form.
"""

from dataclasses import replace

import pytest
from cases import sampled
from conformance import PLANS, SERVERS, Plan, play

pytestmark = pytest.mark.slow

FOUND = {
    "look_once": (Plan(), "near pages both stored"),
    "drop_for_open_claims": (Plan(kills=5), "duplicates of what is not stored"),
    "expire_the_living": (Plan(kills=1), "claims lost within the lease"),
    "ignore_losses": (Plan(stops=3), "stored and never published"),
}
"""When the planted faults show, and as what."""


@pytest.fixture(params=SERVERS.values(), ids=SERVERS)
def server(request, tmp_path):
    server = request.param(tmp_path)
    yield server
    server.stop()


with_redis = pytest.mark.parametrize("server", [SERVERS["redis"]], indirect=True, ids=["redis"])


def played(server, folder, name, seed=1):
    """What comes of a short round of a plan."""
    short = replace(PLANS[name], processes=4, families=30, seconds=2.0, lease=1.0, timeout=30.0)
    result = play(short, server, folder, seed=seed)
    assert result.counts["stored"] > 25
    assert result.counts["duplicates"] > 25
    return result


def test_nothing_near_is_stored_twice_and_nothing_is_lost_whoever_dies(server, tmp_path):
    if not server.can_crash:
        pytest.skip("the processes die in the next test, too")
    for seed in range(1, 6):  # on a busy machine, processes may end before their turn
        result = played(server, tmp_path / f"round {seed}", "and a server that is killed", seed)
        assert result.violations == {}, "\n".join(result.examples)
        if result.counts["kills"]:
            return
    raise AssertionError("nobody was killed")


def test_nothing_is_lost_with_a_history_that_shrinks(server, tmp_path):
    if not server.can_shrink:
        pytest.skip("the server cannot be put back")
    result = played(server, tmp_path / "round", "and a history that shrinks")
    assert result.violations == {}, "\n".join(result.examples)


@with_redis
def test_lost_and_late_messages_have_nobody_wait(server, tmp_path):
    result = played(server, tmp_path / "round", "lost and late messages")
    assert result.violations == {}, "\n".join(result.examples)
    assert result.counts["waits over"] == 0


@pytest.mark.parametrize("fault", sampled(FOUND, "drop_for_open_claims", "ignore_losses"))
@with_redis
def test_planted_faults_are_found(server, tmp_path, fault):
    plan, kind = FOUND[fault]
    result = play(replace(plan, fault=fault), server, tmp_path / "round", seed=1)
    assert kind in result.violations, result
