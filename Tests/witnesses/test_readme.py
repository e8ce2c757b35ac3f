"""The Swift programs in README.md, as they stand there: compiled, and run against a broker."""

import pusher
import pytest

from programs import await_true
from swift_program import compile_program, imports_of, programs_in, start

LINES_MAX = 20
BROKER_IN_README = "6001"


@pytest.fixture(scope="module")
def compiled(broker, tmp_path_factory):
    """The programs by the module that each is about, made to find the tests' broker."""
    folder = tmp_path_factory.mktemp("readme")
    programs = {}
    for number, source in enumerate(programs_in("README.md")):
        here = source.replace(BROKER_IN_README, str(broker.port))
        programs[imports_of(source)[-1]] = compile_program(here, folder, f"program{number}")
    return programs


@pytest.mark.parametrize("source", programs_in("README.md"), ids=lambda source: imports_of(source)[-1])
def test_a_program_fits_on_a_page(source):
    assert 0 < len(source.splitlines()) <= LINES_MAX


@pytest.mark.parametrize("module", ["FanfareClient", "PusherSwift"])
def test_a_subscriber_prints_what_the_backend_triggers(compiled, broker, module):
    backend = pusher.Pusher(
        app_id=broker.app_id,
        key=broker.key,
        secret=broker.secret,
        host="127.0.0.1",
        port=broker.port,
        ssl=False,
    )
    with start(compiled[module]) as subscriber:
        await_true(
            lambda: backend.channel_info("userslist")["occupied"],
            "that the program is subscribed",
        )
        assert start(compiled["FanfareAPI"]).wait() == 0
        subscriber.await_line("Ann")
