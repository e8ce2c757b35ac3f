"""The Debian package and the tarball in new systems: installed, started, upgraded, removed and purged."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from types import SimpleNamespace

import pytest

from programs import ROOT, Program, await_true

DIST = ROOT / "dist"
# Stands in for systemd's own, which needs systemd as the first process: keeps what it is asked for.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/tmp/asked
case "$*" in *is-enabled*) echo enabled ;; *ActiveState*) echo active ;; esac
"""
CONFIGURATION = "/etc/fanfare/fanfare.yaml"
VERBS = ("start", "restart", "stop")
LINK = "/etc/systemd/system/multi-user.target.wants/fanfare.service"
# What installing and removing any package changes, and the copies that useradd makes of the lists of accounts.
RECORDS = (
    *("proc", "dev", "sys", "tmp", "var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "etc/ld.so.cache"),
    *("etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-"),
)


@pytest.fixture(scope="module")
def deb():
    [file] = DIST.glob("fanfare_*.deb")
    return file


@pytest.fixture(scope="module")
def newer_deb(deb, tmp_path_factory):
    """The package as the next version: what it has differs in nothing else."""
    folder = tmp_path_factory.mktemp("newer")
    subprocess.run(["dpkg-deb", "--raw-extract", deb, folder / "root"], check=True)
    control = folder / "root" / "DEBIAN" / "control"
    control.write_text(re.sub(r"^(Version: .*)$", r"\1+next", control.read_text(), flags=re.MULTILINE))
    file = folder / "fanfare_next.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", folder / "root", file], check=True)
    return file


def install(root, deb):
    shutil.copy(deb, root.file("/tmp/fanfare.deb"))
    return root.apt("install", "/tmp/fanfare.deb").stdout


def settings(root, unit):
    """What the unit says below [Service]; what is said several times is a list."""
    text = root.file(unit).read_text().partition("[Service]")[2]
    found = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


class Service(Program):
    """The broker as systemd would start it, on a free port."""

    def __init__(self, root, unit="/usr/lib/systemd/system/fanfare.service"):
        service = settings(root, unit)
        [user], [group] = service["User"], service["Group"]
        for line in service["ExecStartPre"]:
            root.run(*line.split(), user=f"{user}:{group}")
        program, *arguments = service["ExecStart"][0].split()
        file = root.file(program)
        super().__init__(
            file.name, *arguments, "--port", 0, folder=file.parent, through=root.command(user=f"{user}:{group}")
        )
        self.root = root
        self.unit = service
        self.url = f"http://127.0.0.1:{self.await_ready(r'^fanfare [0-9.]+: ready on ws://[^ ]*:([0-9]+)')[1]}"

    def trigger(self, app, check=True):
        names = {"FANFARE_APP_ID": app.id, "FANFARE_KEY": app.key, "FANFARE_SECRET": app.secret}
        return self.root.run(
            *("fanfare", "trigger", "greeting", "hello", "--channel", "news", "--url", self.url),
            environment=names,
            check=check,
        )

    def reload(self):
        for line in self.unit["ExecReload"]:
            self.root.run(*shlex.split(line.replace("${MAINPID}", str(self.id))))


def first_app(root):
    text = root.file(CONFIGURATION).read_text()
    return SimpleNamespace(**{name: re.search(rf'\b{name}: "(\w+)"', text)[1] for name in ("id", "key", "secret")})


def files(root):
    """All that is in a system, but for the records of dpkg."""
    found = set()
    for folder, folders, names in os.walk(root.path):
        inside = os.path.relpath(folder, root.path)
        folders[:] = [name for name in folders if os.path.normpath(f"{inside}/{name}") not in RECORDS]
        found |= {os.path.normpath(f"{inside}/{name}") for name in [*folders, *names]}
    return found - set(RECORDS)


def accounts(root):
    return {name: root.file(f"/etc/{name}").read_text() for name in ("passwd", "group", "shadow", "gshadow")}


def owner(root, path):
    return root.run("stat", "--format", "%U:%G %a", path).stdout.strip()


def test_a_life_of_the_debian_package(root, deb, newer_deb):
    before, accounts_before = files(root), accounts(root)

    # Installed: enabled, with a user, folders, and an app of its own.
    said = install(root, deb)
    assert f"made {CONFIGURATION}" in said
    app = first_app(root)
    assert app.secret not in said
    assert owner(root, "/etc/fanfare") == "root:fanfare 750"
    assert owner(root, CONFIGURATION) == "root:fanfare 640"
    assert owner(root, "/var/lib/fanfare") == "fanfare:fanfare 700"
    assert root.file(LINK).is_symlink()
    account = root.run("getent", "passwd", "fanfare").stdout.strip().split(":")
    assert int(account[2]) < 1000 and account[-1] == "/usr/sbin/nologin"
    assert root.run("cat", CONFIGURATION, user="nobody:nogroup", check=False).returncode != 0

    # Changed as its administrator likes it, with a file that outlives the broker.
    text = root.file(CONFIGURATION).read_text()
    text = text.replace("# webhooks:\n#   database:", "webhooks:\n  database:")
    text += '    webhooks: [{url: "http://127.0.0.1:9/", events: [channel_occupied]}]\n'
    root.file(CONFIGURATION).write_text(text)
    with Service(root) as broker:
        assert broker.trigger(app).returncode == 0
        assert "401" in broker.trigger(SimpleNamespace(id=app.id, key=app.key, secret="wrong"), check=False).stdout
        assert owner(root, "/var/lib/fanfare/webhooks.sqlite").startswith("fanfare:fanfare ")

        # Reloaded: another app, without a restart.
        text += '  - id: "77"\n    key: second-key\n    secret: second-secret\n'
        root.file(CONFIGURATION).write_text(text)
        broker.reload()
        second = SimpleNamespace(id="77", key="second-key", secret="second-secret")
        await_true(lambda: broker.trigger(second, check=False).returncode == 0, "the second app")

        # Upgraded while it runs: the broker serves on, and nothing is asked or changed.
        install(root, newer_deb)
        assert broker.trigger(app).returncode == 0
        assert broker.stop() == 0
    assert root.file(CONFIGURATION).read_text() == text
    assert owner(root, CONFIGURATION) == "root:fanfare 640"
    assert root.run("dpkg-query", "--show", "--showformat=${Version}", "fanfare").stdout.endswith("+next")
    with Service(root) as broker:
        assert broker.trigger(app).returncode == broker.trigger(second).returncode == 0

    # Disabled: no upgrade enables it again.
    root.file(LINK).unlink()
    root.run("dpkg", "--install", "/tmp/fanfare.deb")
    assert not root.file(LINK).is_symlink()

    # Removed: what is the administrator's stays, and counts at the next installation.
    root.apt("remove", "fanfare")
    assert not root.file("/usr/bin/fanfare").exists()
    assert root.file(CONFIGURATION).read_text() == text
    assert root.file("/var/lib/fanfare/webhooks.sqlite").exists()
    install(root, newer_deb)
    assert root.file(CONFIGURATION).read_text() == text

    # Purged: as if it had never been there.
    root.file("/etc/fanfare/tls").mkdir()
    root.apt("purge", "fanfare")
    root.apt("autoremove", "--purge")
    assert files(root) ^ before == set()
    assert accounts(root) == accounts_before


def test_what_systemd_is_asked_for(root, deb, newer_deb):
    root.file("/usr/bin/systemctl").write_text(SYSTEMCTL)
    root.file("/usr/bin/systemctl").chmod(0o755)
    root.file("/run/systemd/system").mkdir(parents=True, exist_ok=True)

    def asked(action):
        """What was asked for while this was done: starts and stops of the service."""
        root.file("/tmp/asked").write_text("")
        said = action()
        words = [line.split() for line in root.file("/tmp/asked").read_text().splitlines()]
        return [line[-2] for line in words if line[-1:] == ["fanfare.service"] and line[-2] in VERBS], said

    assert asked(lambda: install(root, deb))[0] == ["start"]
    assert asked(lambda: install(root, newer_deb))[0] == ["restart"]

    # A broker that would not start again is left alone, and its administrator is told why.
    root.file(CONFIGURATION).write_text("nonsense: true\n")
    done, said = asked(lambda: root.run("dpkg", "--install", "/tmp/fanfare.deb").stdout)
    assert done == []
    assert f"not restarted, since this version refuses {CONFIGURATION}" in said and "nonsense" in said
    assert asked(lambda: root.apt("remove", "fanfare"))[0] == ["stop"]


def test_each_installation_has_a_secret_of_its_own(debian, tmp_path, deb):
    secrets = []
    for number in range(2):
        root = debian.copy(tmp_path / str(number))
        root.apt("update")
        install(root, deb)
        secrets.append(first_app(root).secret)
        shutil.rmtree(root.path)
    assert len(set(secrets)) == 2


def test_a_configuration_that_is_there_is_kept(root, deb):
    file = root.file(CONFIGURATION)
    file.parent.mkdir()
    file.write_text('apps: [{id: "7", key: own-key, secret: own-secret}]\n')
    assert "made" not in install(root, deb)
    assert file.read_text() == 'apps: [{id: "7", key: own-key, secret: own-secret}]\n'


def test_nothing_is_missing_without_the_recommended_packages(root, deb):
    install(root, deb)
    linked = root.run("ldd", "/usr/bin/fanfare").stdout
    assert "not found" not in linked and "libswift" not in linked
    for command in ("--version", "serve --help", "keys app"):
        root.run("fanfare", *command.split())


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_unit_where_it_is_installed(root, deb):
    install(root, deb)
    # The units that ours is ordered behind.
    root.apt("install", "systemd")
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", f"--root={root.path}", "fanfare.service"],
        capture_output=True,
        text=True,
    )
    said = [line for line in checked.stderr.splitlines() if "fanfare" in line]
    assert (checked.returncode, said) == (0, [])
    unit = settings(root, "/usr/lib/systemd/system/fanfare.service")
    for name, value in {
        "NoNewPrivileges": "yes", "ProtectSystem": "strict", "Restart": "on-failure", "LimitNOFILE": "1048576",
        "StateDirectory": "fanfare", "User": "fanfare",
    }.items():
        assert unit[name] == [value]


def test_the_tarball(root):
    """As docs/deployment.md says."""
    [tarball] = DIST.glob("fanfare-*.tar.gz")
    guide = (ROOT / "docs" / "deployment.md").read_text()
    [block] = [text for text in re.findall(r"^```sh\n(.*?)^```", guide, re.DOTALL | re.MULTILINE) if "tar -x" in text]
    shutil.copy(tarball, root.file("/tmp"))
    # Nobody answers questions, and there is no systemd in this root.
    root.file("/etc/apt/apt.conf.d/90yes").write_text('APT::Get::Assume-Yes "true";\n')
    lines = [line for line in block.splitlines() if not line.startswith("systemctl")]
    assert len(lines) < len(block.splitlines())
    root.run("bash", "-e", "-c", "\n".join(lines), folder="/tmp")
    assert owner(root, CONFIGURATION) == "root:fanfare 640"
    with Service(root, "/usr/local/lib/systemd/system/fanfare.service") as broker:
        assert broker.trigger(first_app(root)).returncode == 0
    assert root.file("/usr/local/share/man/man1/fanfare-serve.1.gz").exists()


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_same_program_gives_the_same_packages(deb, tmp_path):
    with tarfile.open(next(DIST.glob("fanfare-*.tar.gz"))) as tarball:
        # That of the commit they were made of; there may be a later one by now.
        date = tarball.next().mtime
    for kind, pattern in (("deb", "fanfare_*.deb"), ("tarball", "fanfare-*.tar.gz")):
        subprocess.run(
            [ROOT / "config" / "scripts" / "package.sh", kind],
            check=True,
            env={**os.environ, "DIST": str(tmp_path), "SOURCE_DATE_EPOCH": str(date)},
        )
        [made], [again] = DIST.glob(pattern), tmp_path.glob(pattern)
        # By digest: pytest would look for the differences of two files of 10 MB for hours.
        assert digest(made) == digest(again)
