"""The versions of the packages that Fanfare is built of are those that it was tested with."""

import shutil
import subprocess

import pytest

from programs import ROOT

SCRIPT = "config/scripts/dependencies.sh"


@pytest.fixture
def copy(tmp_path):
    """What the script reads, with every package at the tested version."""
    for file in ("Package.swift", "config/dependencies.txt", SCRIPT):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    assert ask(tmp_path, "pin").returncode == 0
    return tmp_path


def ask(folder, command):
    return subprocess.run([folder / SCRIPT, command], capture_output=True, text=True)


def replace(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def a_tested_package(folder):
    """One with a version of three numbers: its name, version and revision."""
    line = (folder / "config/dependencies.txt").read_text().splitlines()[-1]
    return line.split()[:3]


def resolve_at(folder, version, other):
    """Has the last package, which is that of `a_tested_package`, resolved at another version."""
    end = '"\n      }\n    }\n  ]'
    replace(folder / "Package.resolved", version + end, other + end)


def test_what_was_tested_passes(copy):
    result = ask(copy, "check")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_later_patch_is_named_and_passes(copy):
    name, version, _ = a_tested_package(copy)
    later = version.rpartition(".")[0] + ".99"
    resolve_at(copy, version, later)
    result = ask(copy, "check")
    assert result.returncode == 0
    assert f"{name} {later} is built; {version} was tested" in result.stdout


@pytest.mark.parametrize("later", ["99.0.0", "0.0.1"])
def test_another_minor_version_fails(copy, later):
    name, version, _ = a_tested_package(copy)
    resolve_at(copy, version, later)
    result = ask(copy, "check")
    assert result.returncode == 1
    assert f"{name} {later} is built; {version} was tested" in result.stderr


def test_a_tag_that_was_moved_fails(copy):
    name, _, revision = a_tested_package(copy)
    replace(copy / "Package.resolved", revision, "0" * 40)
    result = ask(copy, "check")
    assert result.returncode == 1
    assert f"{name} " in result.stderr and "its tag was moved" in result.stderr


def test_a_package_that_nobody_tested_fails(copy):
    name, version, _ = a_tested_package(copy)
    lines = (copy / "config/dependencies.txt").read_text().splitlines()[:-1]
    (copy / "config/dependencies.txt").write_text("\n".join(lines) + "\n")
    result = ask(copy, "check")
    assert result.returncode == 1
    assert f"{name} {version} is built, and is not in" in result.stderr


def test_a_package_that_is_not_needed_any_more_fails(copy):
    with (copy / "config/dependencies.txt").open("a") as file:
        file.write("old-package 1.0.0 0 https://example.com/old-package\n")
    result = ask(copy, "check")
    assert result.returncode == 1
    assert "old-package is in config/dependencies.txt, and nothing needs it" in result.stderr


def test_a_dependency_without_a_tested_range_fails(copy):
    replace(copy / "Package.swift", ".upToNextMinor(from: ", "from: (")
    result = ask(copy, "check")
    assert result.returncode == 1
    assert "Package.swift names a package without .upToNextMinor" in result.stderr


def test_what_is_resolved_can_be_recorded(copy):
    before = (copy / "config/dependencies.txt").read_text()
    assert ask(copy, "record").returncode == 0
    assert (copy / "config/dependencies.txt").read_text() == before
