"""What fleets of real processes have stored, over each log; and that the suite sees what is wrong.

`benchmarks/fleet.py conformance` has the long form.
"""

from dataclasses import replace

import pytest
from conformance import PLANS, SERVERS, Plan, play
from crawling_process import Weather

pytestmark = pytest.mark.slow

LOSSY = Weather(0.03, 0.02, 0.003)
FOUND = {
    "look_once": (Plan(), {"near pages both stored"}),
    "drop_for_open_claims": (Plan(kills=5), {"duplicates of what is not stored"}),
    "expire_the_living": (Plan(kills=1), {"claims lost within the lease"}),
    "ignore_losses": (Plan(stops=3), {"stored and never published"}),
    "claim_once": (Plan(weather=LOSSY), {"waits for nobody"}),
}  # fmt: skip
"""What shows the planted faults, and as what."""


@pytest.fixture(params=SERVERS.values(), ids=SERVERS)
def server(request, tmp_path):
    server = request.param(tmp_path)
    yield server
    server.stop()


@pytest.mark.parametrize("name", PLANS)
def test_nothing_near_is_stored_twice_and_nothing_is_lost_whoever_dies(server, tmp_path, name):
    plan = replace(PLANS[name], families=50, seconds=3.0)
    if (plan.crashes and not server.can_crash) or (plan.shrinks and not server.can_shrink):
        pytest.skip("the server cannot do that")
    result = play(plan, server, tmp_path / "round", seed=1)
    assert result.violations == {}, result.examples
    assert result.stored > 40
    assert result.duplicates > 40
    assert bool(result.kills) == bool(plan.kills)


@pytest.mark.parametrize("fault", FOUND)
def test_planted_faults_are_found(tmp_path, fault):
    plan, kinds = FOUND[fault]
    server = SERVERS["memory"](tmp_path)
    try:
        result = play(plan.with_fault(fault), server, tmp_path / "round", seed=1)
    finally:
        server.stop()
    assert kinds & set(result.violations), result
