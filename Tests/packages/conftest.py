"""What the tests of the packages share: a folder for roots, and the smallest Debian in it."""

import os
import shutil
from pathlib import Path

import pytest

import roots


def pytest_configure(config):
    """Nothing passes by being skipped: who asks for these tests has what they need, or is told."""
    if os.geteuid() != 0:
        pytest.exit("Only root can change roots: sudo make test-packages", returncode=1)
    if not shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin"):
        pytest.exit("debootstrap is missing: config/scripts/install.sh packages", returncode=1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where roots are kept: for the next run, if the environment has a place for them."""
    if kept := os.environ.get("PACKAGE_ROOTS"):
        Path(kept).mkdir(parents=True, exist_ok=True)
        return Path(kept).resolve()
    return tmp_path_factory.mktemp("roots")


@pytest.fixture(scope="session")
def debian(folder):
    """The smallest Debian; copied, never changed."""
    return roots.make(folder / roots.RELEASE)


@pytest.fixture
def root(debian, tmp_path):
    """A new Debian for one test."""
    root = debian.copy(tmp_path / "root")
    root.apt("update")
    yield root
    shutil.rmtree(root.path, ignore_errors=True)
