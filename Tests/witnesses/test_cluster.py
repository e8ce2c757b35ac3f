"""Three nodes on Redis whose parts fail; `make cluster` is the same, with hundreds of times more."""

import pytest

from cluster.faults import FAULTS
from cluster.run import ClusterRun, Size
from recovery.clients import PYSHER, SDK, STOCK

#: Few of each, since each is a run of its own.
SIZE = Size({SDK: 4, PYSHER: 1, STOCK: 2}, rate=100, deliveries=2_000, faults=2, lifetime=0.7)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost_untold(fault):
    run = ClusterRun(fault, SIZE, seed=20)
    outcomes = run.outcomes()
    assert [text for outcome in outcomes for text in outcome.violations] == []
    assert run.ghosts == {}
    assert run.misreports == []
    assert run.attendance.transitions >= SIZE.members
    assert run.faults >= SIZE.faults
    if fault.may_gap:
        # A new primary may lack messages, so nobody who missed some is told that there were none.
        assert any(outcome.findings.gaps > 0 for outcome in outcomes if outcome.kind == SDK)
