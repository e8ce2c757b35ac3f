"""What a build shows: a line of progress, and whatever is wrong in full."""

import itertools
import os
import pty
import re
import shutil
import subprocess

import pytest

from programs import ROOT

SCRIPT = "config/scripts/build.sh"

# Stands in for the compiler: says what it is told to say, and keeps what it was asked for.
SWIFT = """#!/bin/sh
echo "$@" >>asked
cat <<'END'
Building for production...
[0/3] Write sources
[1/3] Compiling Net Stream.swift
libFoundationEssentials.a(x.o): warning: the use of `mktemp' is dangerous, better use `mkstemp' or `mkdtemp'
[2/3] Compiling Net Reactor.swift
{says}
[3/3] Linking fanfare
Build of product 'fanfare' complete! (1.00s)
END
exit {status}
"""


@pytest.fixture
def copy(tmp_path):
    """The script in a folder of its own, with nothing to build."""
    (tmp_path / SCRIPT).parent.mkdir(parents=True)
    shutil.copy(ROOT / SCRIPT, tmp_path / SCRIPT)
    (tmp_path / "Package.resolved").touch()
    return tmp_path


def build(folder, *arguments, says="", status=0, terminal=None, **environment):
    swift = folder / "swift"
    swift.write_text(SWIFT.format(says=says, status=status))
    swift.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    unset = {"VERBOSE", "SYMBOLS"}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.run(
        [folder / SCRIPT, *arguments],
        env={**inherited, "PATH": path, **environment},
        stdout=terminal or subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


def test_a_line_for_each_program_and_none_for_a_file(copy):
    result = build(copy, "release", "fanfare", "fanfare-demos")
    lines = result.stdout.splitlines()
    assert [line.split(" (")[0] for line in lines] == ["    fanfare … ok", "    fanfare-demos … ok"]
    flags = "build -c release --static-swift-stdlib -Xlinker --strip-all --product"
    asked = (copy / "asked").read_text().splitlines()
    assert asked == [f"{flags} fanfare", f"{flags} fanfare-demos"]


def test_verbose_shows_everything(copy):
    result = build(copy, "release", "fanfare", VERBOSE="1")
    for part in ("[1/3] Compiling Net Stream.swift", "mktemp", "complete!"):
        assert part in result.stdout


def test_symbols_stay_on_demand(copy):
    build(copy, "release", "fanfare", SYMBOLS="1")
    assert "--strip-all" not in (copy / "asked").read_text()


def test_an_error_is_shown_in_full_and_ends_the_build(copy):
    error = "/a/Stream.swift:7:1: error: no\n7 | let a: Int = ''\n  |              `- error: no"
    result = build(copy, "release", "fanfare", "fanfare-demos", says=error, status=1)
    assert result.returncode == 1
    assert error in result.stdout
    assert "fanfare … FAILED; the reason is above" in result.stdout
    assert "fanfare-demos" not in result.stdout + (copy / "asked").read_text()


def test_a_terminal_has_one_line_that_changes(copy):
    mine, theirs = pty.openpty()
    assert build(copy, "tests", terminal=theirs).returncode == 0
    shown = os.read(mine, 65_536).decode()
    os.close(mine)
    os.close(theirs)
    assert "step 2 of 3" in shown
    assert shown.count("\n") == 1
    assert shown.rstrip().split("\x1b[K")[-1].startswith("    tests and programs … ok")


def test_a_terminal_tells_fetching_from_planning(copy):
    mine, theirs = pty.openpty()
    says = "Fetching a\nFetched a (0.1s)\nCreating working copy for a\nWorking copy of a resolved at 1.0.0"
    assert build(copy, "release", "fanfare", says=says, terminal=theirs).returncode == 0
    shown = os.read(mine, 65_536).decode()
    os.close(mine)
    os.close(theirs)
    steps = [step for step, _ in itertools.groupby(re.findall(r"fanfare … (.+?) \(", shown))]
    assert steps[-5:] == ["step 2 of 3", "fetching libraries", "planning", "step 3 of 3", "ok"]


def test_the_sizes_of_the_programs(copy):
    programs = copy / "release"
    programs.mkdir()
    for name, length, mode in (("fanfare", 25_600_000, 0o755), ("fanfare-demos", 900_000, 0o755), ("notes", 7, 0o644)):
        with open(programs / name, "wb") as file:
            file.truncate(length)
        (programs / name).chmod(mode)
    # The compiler is asked where they are.
    (copy / "swift").write_text(f"#!/bin/sh\necho {programs}\n")
    (copy / "swift").chmod(0o755)
    shown = subprocess.run(
        [copy / SCRIPT, "sizes"],
        env={**os.environ, "PATH": f"{copy}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert [line.split() for line in shown] == [["fanfare", "25.6", "MB"], ["fanfare-demos", "0.9", "MB"]]


def test_a_second_build_compiles_nothing():
    """With the real compiler, on the build that the tests use."""
    build = subprocess.run(
        [ROOT / SCRIPT, "tests"],
        env={**os.environ, "VERBOSE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=110,
    )
    assert build.returncode == 0 and "Build complete!" in build.stdout, build.stdout
    # Plugins of libraries are named each time.
    assert not re.findall(r"(?:Compiling (?!plugin)|Emitting|Linking) .*", build.stdout)


def test_what_is_not_known_is_refused(copy):
    result = build(copy, "everything")
    assert result.returncode == 64
    assert "build.sh release [PRODUCT …]" in result.stdout
