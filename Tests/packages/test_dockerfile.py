"""The Dockerfile's commands, in roots that stand in for its images: no container engine is needed."""

import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import roots
from dockerfile import included, stages, words
from ports import free_port
from programs import ROOT, Program, await_true

# What the image of the toolchain has beside the toolchain itself:
# https://github.com/swiftlang/swift-docker/blob/main/6.3/debian/bookworm/Dockerfile
BESIDE_SWIFT = """
    binutils-gold ca-certificates gcc git libcurl4-openssl-dev libedit-dev libncurses-dev libpython3-dev libsqlite3-dev
    libstdc++-12-dev libxml2-dev pkg-config tzdata uuid-dev
""".split()
CONFIGURATION = "/etc/fanfare/fanfare.yaml"
# The Dockerfile compiles everything: ten minutes on two cores, and any time on busy ones, as long as it goes on.
pytestmark = pytest.mark.timeout(0)


def toolchain():
    """The folder of the Swift toolchain, and its version."""
    said = subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout
    return Path(shutil.which("swift")).resolve().parents[1], re.search(r"Swift version (\S+)", said)[1]


def repositories():
    """Where git looks for repositories on this machine: its settings, and the folders that they name."""
    asked = ("git", "config", "--get-regexp", r"^url\..*\.insteadof$")
    settings = [line.split() for line in subprocess.run(asked, capture_output=True, text=True).stdout.splitlines()]
    folders = {re.fullmatch(r"url\.(.*)\.insteadof", name)[1] for name, _ in settings}
    return settings, sorted(folder for folder in folders if folder.startswith("/"))


@pytest.fixture(scope="module")
def image(folder, debian, tmp_path_factory):
    """Makes a root that stands in for an image."""

    def make(name):
        path = tmp_path_factory.mktemp("image") / "root"
        if name == "debian:12-slim":
            return debian.copy(path)
        version = re.fullmatch(r"swift:([\d.]+)-bookworm", name)[1]
        swift, found = toolchain()
        if not f"{found}.".startswith(f"{version}."):
            pytest.skip(f"the image has Swift {version}, this machine {found}")
        settings, mirrors = repositories()
        base = roots.make(folder / f"{roots.RELEASE}-with-swift", BESIDE_SWIFT)
        root = base.copy(path, [(swift, swift), *((mirror, mirror) for mirror in mirrors)])
        root.path_of_swift = f"{swift}/bin"
        for setting, value in settings:
            root.run("git", "config", "--system", "--add", setting, value)
        return root

    return make


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """The files that "docker build" sends."""
    path = tmp_path_factory.mktemp("context")
    for name in included((ROOT / ".dockerignore").read_text()):
        source, target = ROOT / name, path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".build"))
        else:
            shutil.copy2(source, target)
    return path


def copy(source, target, root, folder):
    """COPY of a file to a file or a folder, or of a folder's contents."""
    place = root.file(f"{folder}/{target}" if not target.startswith("/") else target)
    if source.is_dir():
        shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True)
        return
    place = place / source.name if target.endswith("/") else place
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, place)


def build(stage, root, context, others, mounts=()):
    """Does what a stage says."""
    folder = "/"
    environment = {"PATH": f"{root.path_of_swift}:{roots.STANDARD['PATH']}"} if hasattr(root, "path_of_swift") else {}
    for instruction, text in stage.instructions:
        if instruction == "RUN":
            print(root.run("sh", "-c", text, folder=folder, environment=environment, mounts=mounts).stdout)
        elif instruction == "WORKDIR":
            folder = text
            root.file(folder).mkdir(parents=True, exist_ok=True)
        elif instruction == "COPY":
            *options, source, target = text.split()
            place = others[options[0].removeprefix("--from=")].file(source) if options else context / source
            copy(place, target if target not in (".", "./") else f"{folder}/", root, folder)
    return root


@pytest.fixture(scope="module")
def built(image, context, folder):
    """The last stage's root, when all stages are built."""
    found = stages((ROOT / "Dockerfile").read_text())
    made = {}
    for stage in found:
        mounts = []
        if stage.image.startswith("swift:"):
            # The libraries' sources and what is compiled of them are kept with the roots.
            kept = folder / "build-of-the-image"
            kept.mkdir(exist_ok=True)
            mounts = [(kept, f"{stage.last('WORKDIR')}/.build")]
        made[stage.name] = build(stage, image(stage.image), context, made, mounts)
    root = made[found[-1].name]
    root.file(CONFIGURATION).parent.mkdir()
    app = root.run("fanfare", "keys", "app").stdout
    root.file(CONFIGURATION).write_text(f"listen:\n  host: 127.0.0.1\n{app}")
    return root, found[-1]


def test_the_image_runs_as_it_says(built):
    root, stage = built
    user = stage.last("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), "Kubernetes sees only a number to be another user than root"
    entry, command = words(stage.last("ENTRYPOINT")), words(stage.last("CMD"))
    through = root.command(user=user)
    health = words(stage.last("HEALTHCHECK"))

    def is_healthy(port):
        return root.run(*health, environment={"FANFARE_LISTEN_PORT": port}, user=user, check=False).returncode == 0

    program = root.file(root.run("which", *entry).stdout.strip())
    with Program(program.name, *command, "--port", free_port(), folder=program.parent, through=through) as broker:
        port = broker.await_ready(r"^fanfare [0-9.]+: ready on ws://[^ ]*:(\d+)")[1]
        assert is_healthy(port)
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0
    await_true(lambda: not is_healthy(port), "a health check that fails")


def test_the_image_has_the_libraries_of_the_program(built):
    root, _ = built
    linked = root.run("ldd", "/usr/local/bin/fanfare").stdout
    assert "not found" not in linked and "libswift" not in linked


def test_the_image_has_a_folder_for_what_is_kept(built):
    root, stage = built
    owner = root.run("stat", "--format", "%u:%g %a", "/var/lib/fanfare").stdout.strip()
    assert owner == f"{stage.last('USER')} 700"
