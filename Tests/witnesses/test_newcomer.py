"""README.md as a newcomer follows it, from the top: a broker, an event in a terminal, a page with pusher-js, and a private
channel that a backend in Node.js authorizes. Each step is timed, and the times are printed.

Commands, programs, file names and addresses are read from README.md and used as they stand there, ports included. What
cannot be had here is replaced in `here`, and nowhere else:

- pusher-js comes from the bundle that PUSHER_JS names, not from js.pusher.com. Skipped without.
- `make build` takes minutes and has been run for the tests, to debug. NEWCOMER_BUILD=1 clones the repository into an empty
  folder and runs it there.
"""

import os
import re
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from documents import block_with, blocks_in
from ports import accepts
from programs import BUILD, ROOT, Program, await_true
from static_site import StaticSite

README = (ROOT / "README.md").read_text()
PUSHER_JS_IN_README = "https://js.pusher.com/8.4.0/pusher.min.js"
PROGRAMS_IN_README = "$PWD/.build/release"
PORTS_IN_README = (6001, 3000)
IS_BUILT = os.environ.get("NEWCOMER_BUILD") == "1"
BUILD_TIME_MAX = 3_600
# Seconds of patience for one step; none but the build takes one.
STEP_TIME_MAX = 30


def said(pattern):
    """What the text of README.md says, apart from its blocks."""
    match = re.search(pattern, README, re.S)
    assert match, f"README.md does not say {pattern!r} any more"
    return match.groups()


def command(start):
    """The only command of README.md that begins like this."""
    lines = {line for block in blocks_in("README.md", "sh") for line in block.splitlines() if line.startswith(start)}
    assert len(lines) == 1, lines
    return lines.pop()


class Newcomer:
    """A person with a folder, terminals and a browser, who does what is printed."""

    def __init__(self, folder, repository, pusher_js, stack):
        self.folder = folder
        self._repository = repository
        self._pusher_js = pusher_js
        self._stack = stack
        self.times = []

    def here(self, text):
        """What is printed, with what cannot be had here replaced; see above."""
        text = text.replace(PUSHER_JS_IN_README, self._pusher_js)
        return text if IS_BUILT else text.replace(PROGRAMS_IN_README, str(BUILD))

    def step(self, what, action, seconds=STEP_TIME_MAX):
        begin = time.monotonic()
        result = action()
        self.times.append((time.monotonic() - begin, what))
        assert self.times[-1][0] < seconds, f"{what} took {self.times[-1][0]:.1f} s"
        return result

    def run(self, line, folder=None):
        """Types a command into a new terminal, as a person who has read about PATH; returns the program."""
        script = f"{self.here(command('export PATH='))}\ncd '{folder or '.'}'\nexec {line}"
        through = ("env", "-C", self._repository)
        return self._stack.enter_context(Program("bash", "-c", script, folder=Path("/usr/bin"), through=through))

    def do(self, line):
        """The same, for a command that ends by itself."""
        program = self.run(line)
        assert program.wait() == 0, program.new_lines

    def save(self, name, text):
        (self.folder / name).write_text(self.here(text))
        return self.folder / name


@pytest.fixture
def pusher_js():
    if not (path := os.environ.get("PUSHER_JS")):
        pytest.skip("PUSHER_JS names no bundle of pusher-js")
    with StaticSite({"/pusher.min.js": Path(path).read_text()}) as site:
        yield f"{site.url}/pusher.min.js"


@pytest.fixture
def repository(tmp_path):
    """The folder that README.md calls the folder of the repository."""
    if not IS_BUILT:
        return ROOT
    clone = tmp_path / "fanfare"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    return clone


@pytest.mark.timeout(BUILD_TIME_MAX + 300 if IS_BUILT else 300)
def test_readme_leads_from_an_empty_folder_to_a_private_channel(browsers, tmp_path, repository, pusher_js, capsys):
    if any(accepts(port) for port in PORTS_IN_README):
        pytest.skip("a port that README.md names is taken")
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    folder = tmp_path / "empty"
    folder.mkdir()
    browser = browsers[0]
    with ExitStack() as stack:
        newcomer = Newcomer(folder, repository, pusher_js, stack)
        if IS_BUILT:
            build = said(r"After `(make build)`")[0]
            done = newcomer.step(
                build, lambda: subprocess.run(build.split(), cwd=repository, timeout=BUILD_TIME_MAX), BUILD_TIME_MAX
            )
            assert done.returncode == 0

        # Thirty seconds.
        serve = block_with("fanfare serve\n#", "README.md", "sh").splitlines()
        broker = newcomer.run(serve[0])
        newcomer.step(serve[0], lambda: broker.await_line(f"^{re.escape(serve[1].removeprefix('# '))}$"))
        listen, trigger = command("fanfare listen userslist"), command("fanfare trigger addUser")
        listener = newcomer.run(listen)
        newcomer.step(listen, lambda: listener.await_line("subscribed to userslist"))
        newcomer.step(trigger, lambda: newcomer.do(trigger))
        listener.await_line("addUser.*Ann")
        console = said(r"See both in a browser: <(http://[^>]+)> is \[the console\]")[0]

        def open_console():
            browser.open(console)
            await_true(lambda: browser.connection == "Live", "a live console")

        newcomer.step(f"the console at {console}", open_console)

        # A page with pusher-js.
        (name,) = said(r"Save this as `(page\.html)`, open it, and trigger again")
        page = newcomer.save(name, block_with("fanfare-pusher.js", "README.md", "html"))

        def trigger_until_seen():
            # Nothing on the page tells when it is subscribed: a person triggers again.
            newcomer.do(trigger)
            return "Ann" in browser.text("#users")

        def open_page():
            browser.open(page.as_uri())
            await_true(trigger_until_seen, "the name on the page")

        newcomer.step(f"{name} shows what is triggered", open_page)

        # A private channel.
        pattern = r"save it as\s+`(server\.mjs)` in an empty folder, start `([^`]+)`, and open <(http://[^>]+)>"
        name, start, address = said(pattern)
        newcomer.save(name, block_with("createServer", "README.md", "js"))
        backend = newcomer.run(start, folder)
        newcomer.step(start, lambda: await_true(lambda: accepts(3000), "the backend", told=lambda: backend.new_lines))

        def open_backend():
            browser.open(address)
            await_true(lambda: "Subscribed." in browser.text("#orders"), "the authorized subscription")

        newcomer.step(f"{address} joins the private channel", open_backend)
        order = command("fanfare trigger ordered")
        newcomer.step(order, lambda: newcomer.do(order))
        await_true(lambda: "Soup" in browser.text("#orders"), "the dish on the page")

    with capsys.disabled():
        print()
        for seconds, what in newcomer.times:
            print(f"    {seconds:6.1f} s  {what}")
        print(f"    {sum(seconds for seconds, _ in newcomer.times):6.1f} s  in all")
