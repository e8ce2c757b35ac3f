"""The Swift programs of the guides, as they stand there: compiled, and run against a broker."""

import pusher
import pytest

from programs import Demos, await_true
from swift_program import compile_program, imports_of, programs_in, start

LINES_MAX = 20
BROKER_IN_GUIDES, DEMOS_IN_GUIDES = "6001", "4000"
GUIDES = ["docs/swift.md", "docs/lists.md", "docs/testing.md"]
PROGRAMS = [program for guide in GUIDES for program in programs_in(guide)]


@pytest.fixture(scope="module")
def demos(broker):
    """The demos, whose table one of the programs shows."""
    with Demos(broker.port) as demos:
        yield demos


@pytest.fixture(scope="module")
def compiled(broker, demos, tmp_path_factory):
    """The programs by the module that each is about, made to find the tests' broker and demos."""
    folder = tmp_path_factory.mktemp("guides")
    programs = {}
    for number, source in enumerate(PROGRAMS):
        here = source.replace(BROKER_IN_GUIDES, str(broker.port))
        here = here.replace(DEMOS_IN_GUIDES, str(demos.port))
        programs[imports_of(source)[-1]] = compile_program(here, folder, f"program{number}")
    return programs


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: imports_of(source)[-1])
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

    def count():
        return backend.channel_info("userslist", ["subscription_count"])["subscription_count"]

    # The broker may not know yet that the program of the test before has ended.
    await_true(lambda: count() == 0, "that nobody is subscribed")
    with start(compiled[module]) as subscriber:
        await_true(lambda: count() == 1, "that the program is subscribed")
        assert start(compiled["FanfareAPI"]).wait() == 0
        subscriber.await_line("Ann")


def test_a_backend_triggers_what_the_broker_cannot_read(compiled):
    assert start(compiled["FanfareEncryption"]).wait() == 0


def test_a_list_is_live(compiled):
    with start(compiled["LiveCollections"]) as program:
        program.await_line(r'\["John Doe", .*"Katherine Johnson", "Ann"\]')


@pytest.mark.parametrize(
    "module, printed",
    [("LiveRows", r"^-\[1, 2\] \+\[3\] 0→4$"), ("FanfareTesting", r'^{"name":"Ann"}$')],
)
def test_a_program_without_a_broker_prints_what_it_should(compiled, module, printed):
    program = start(compiled[module])
    program.await_line(printed)
    assert program.wait() == 0
