"""What `make deb` and `make tarball` put into the packages. Tests/packages installs them."""

import gzip
import json
import os
import re
import shutil
import subprocess
import tarfile
from types import SimpleNamespace

import pytest

from programs import BUILD, ROOT, run

# Packing takes a core for a while, and the other witnesses run beside it.
pytestmark = pytest.mark.timeout(600)

# What bash does when somebody has typed "fanfare ch" and presses the tabulator.
TYPED = """
source "$0"
COMP_WORDS=(fanfare ch) COMP_CWORD=1 COMP_LINE='fanfare ch' COMP_POINT=10
_fanfare fanfare ch fanfare
echo "${COMPREPLY[@]}"
"""
TOP = "fanfare-{version}-linux-{machine}"


def packed(kind, folder):
    """The package of this kind, of the program under test, in a folder of its own; unpacked beside it."""
    environment = {**os.environ, "PROGRAM": str(BUILD / "fanfare"), "DIST": str(folder / "dist")}
    made = subprocess.run(
        [ROOT / "config" / "scripts" / "package.sh", kind], env=environment, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    [file] = (folder / "dist").iterdir()
    assert re.fullmatch(rf"{re.escape(str(file))}: \d+kB\n", made.stdout), made.stdout
    return file


@pytest.fixture(scope="module")
def version():
    return run("fanfare", "--version").stdout.strip()


@pytest.fixture(scope="module")
def deb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    file = packed("deb", folder)
    subprocess.run(["dpkg-deb", "--raw-extract", file, folder / "root"], check=True)
    return SimpleNamespace(file=file, root=folder / "root", prefix=folder / "root" / "usr", zsh="vendor-completions")


@pytest.fixture(scope="module")
def tarball(tmp_path_factory, version):
    folder = tmp_path_factory.mktemp("tarball")
    file = packed("tarball", folder)
    with tarfile.open(file) as archive:
        members = archive.getmembers()
    subprocess.run(["tar", "--extract", "--file", file, "--directory", folder], check=True)
    top = folder / TOP.format(version=version, machine=os.uname().machine)
    return SimpleNamespace(file=file, members=members, prefix=top, zsh="site-functions")


@pytest.fixture(params=["deb", "tarball"])
def package(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def commands():
    """Each command's words, as ("fanfare", "keys", "app"), with what the program says of it."""

    def walk(command, above):
        names = (*above, command["commandName"])
        yield names, command
        for subcommand in command.get("subcommands", []):
            if subcommand["shouldDisplay"] and subcommand["commandName"] != "help":
                yield from walk(subcommand, names)

    return dict(walk(json.loads(run("fanfare", "--experimental-dump-help").stdout)["command"], ()))


def test_the_version_is_that_of_the_program_and_of_the_changelog(deb, tarball, version):
    heading = re.search(r"^## (\d\S*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading[1] == version
    assert control(deb)["Version"] == version
    assert tarball.file.name == TOP.format(version=version, machine=os.uname().machine) + ".tar.gz"


def control(deb):
    text = (deb.root / "DEBIAN" / "control").read_text()
    return dict(re.findall(r"^([A-Za-z-]+): (.*)$", text, re.MULTILINE))


def test_the_fields_of_the_debian_package(deb):
    fields = control(deb)
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()
    assert (fields["Package"], fields["Architecture"]) == ("fanfare", architecture)
    assert deb.file.name == f"fanfare_{fields['Version']}_{architecture}.deb"
    size = (deb.prefix / "bin" / "fanfare").stat().st_size / 1024
    assert size < int(fields["Installed-Size"]) < size + 4096
    depends = {name.split()[0]: name for name in fields["Depends"].split(", ")}
    # The libraries of the program, each since the version that has what it calls, and what the scripts run.
    assert {"libc6", "libssl3", "libsqlite3-0", "libyaml-0-2", "zlib1g", "passwd"} <= set(depends)
    assert re.fullmatch(r"libssl3 \(>= 3\.0[0-9.]*\)", depends["libssl3"])
    assert "@" not in (deb.root / "DEBIAN" / "control").read_text().replace(fields["Maintainer"], "")


def test_the_checksums_of_the_debian_package(deb):
    checked = subprocess.run(
        ["md5sum", "--check", "--strict", "--quiet", "DEBIAN/md5sums"], cwd=deb.root, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr
    listed = {line.split("  ")[1] for line in (deb.root / "DEBIAN" / "md5sums").read_text().splitlines()}
    assert listed == {str(file.relative_to(deb.root)) for file in deb.prefix.rglob("*") if file.is_file()}


@pytest.mark.parametrize("script", ["postinst", "prerm", "postrm"])
def test_the_scripts_of_the_debian_package(deb, script):
    file = deb.root / "DEBIAN" / script
    assert file.stat().st_mode & 0o777 == 0o755
    assert subprocess.run(["sh", "-n", file]).returncode == 0


def test_everything_belongs_to_root_and_nothing_is_outside(deb, tarball):
    listing = subprocess.run(["dpkg-deb", "--contents", deb.file], capture_output=True, text=True, check=True).stdout
    assert {line.split()[1] for line in listing.splitlines()} == {"root/root"}
    # What dpkg would ask about, or overwrite, is not in it: the scripts make the configuration.
    assert {path.name for path in deb.root.iterdir()} == {"DEBIAN", "usr"}
    assert {(member.uid, member.gid) for member in tarball.members} == {(0, 0)}
    assert {member.name.split("/")[0] for member in tarball.members} == {tarball.prefix.name}
    assert {path.name for path in tarball.prefix.iterdir()} == {"bin", "lib", "share"}


def test_the_program_is_stripped_and_the_unit_starts_it(package, deb):
    program = package.prefix / "bin" / "fanfare"
    assert program.stat().st_mode & 0o777 == 0o755
    sections = subprocess.run(["readelf", "--sections", program], capture_output=True, text=True, check=True).stdout
    assert ".text" in sections and ".symtab" not in sections and ".debug_info" not in sections
    unit = (package.prefix / "lib" / "systemd" / "system" / "fanfare.service").read_text()
    prefix = "/usr" if package is deb else "/usr/local"
    assert f"\nExecStart={prefix}/bin/fanfare serve --config /etc/fanfare/fanfare.yaml\n" in unit
    assert set(re.findall(r"\S*/bin/fanfare\b", unit.replace("=", " "))) == {f"{prefix}/bin/fanfare"}
    assert unit.startswith("[Unit]")


def test_the_licences_are_there(package, deb):
    documents = package.prefix / "share" / "doc" / "fanfare"
    [file] = documents.glob("LICENSES-OF-LIBRARIES*")
    text = (gzip.decompress(file.read_bytes()) if package is deb else file.read_bytes()).decode()
    names = {"swift-argument-parser", "swift-log", "swift-metrics", "hdrhistogram-swift"}
    assert names <= set(re.findall(r"^(\S+) \d\S*, https://", text, re.MULTILINE))
    assert text.count("TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION") >= len(names)
    if package is deb:
        assert "/usr/share/common-licenses/Apache-2.0" in (documents / "copyright").read_text()
    else:
        assert (documents / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_first_configuration_is_valid_and_has_no_secret(package, certificate, tmp_path):
    template = (package.prefix / "share" / "fanfare" / "fanfare.yaml").read_text()
    assert not re.search(r"^ *(- )?(secret|key|apps):", template, re.MULTILINE)
    [example] = re.findall(r"/\S+/fanfare\.example\.yaml", template)
    documents = (package.prefix / example.removeprefix("/usr/").removeprefix("local/")).parent
    for name in ("fanfare.yaml", "fanfare.example.yaml"):
        assert (documents / name).read_bytes() == (ROOT / "config" / name).read_bytes()
    file = tmp_path / "fanfare.yaml"
    app = run("fanfare", "keys", "app").stdout
    file.write_text(template + app)
    checked = run("fanfare", "check", "--config", file)
    assert checked.returncode == 0, checked.stderr
    # Each example in the comments is valid in its place, alone, and all of them together.
    template = template.replace("/etc/fanfare/tls/fullchain.pem", str(certificate.certificate))
    template = template.replace("/etc/fanfare/tls/privkey.pem", str(certificate.key))
    blocks = re.findall(r"^# (\w+:\n(?:#   .*\n)+)", template, re.MULTILINE)
    keys = {re.match(r"\w+", block)[0] for block in blocks}
    assert keys == {"tls", "metrics", "recovery", "webhooks"}
    whole = template
    for block in blocks:
        uncommented = block.replace("\n# ", "\n")
        whole = whole.replace("# " + block, uncommented)
        for text in (template.replace("# " + block, uncommented), whole):
            assert uncommented in text
            file.write_text(text + app)
            checked = run("fanfare", "check", "--config", file)
            assert checked.returncode == 0, checked.stderr


def test_a_manual_page_for_each_command(package, commands):
    folder = package.prefix / "share" / "man" / "man1"
    assert {file.name for file in folder.iterdir()} == {f"{'-'.join(names)}.1.gz" for names in commands}
    for names, command in commands.items():
        text = gzip.decompress((folder / f"{'-'.join(names)}.1.gz").read_bytes()).decode().replace("\\-", "-")
        assert f"\n{'-'.join(names)} - " in text
        for argument in command["arguments"]:
            for name in argument.get("names", []):
                dashes = "-" if name["kind"] == "short" else "--"
                assert f"\\fB{dashes}{name['name']}\\fR" in text, (names, name)
        for subcommand in command.get("subcommands", []):
            if subcommand["commandName"] != "help":
                assert f".BR {'-'.join(names)}-{subcommand['commandName']} (1)" in text


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_manual_pages_are_sound(tarball, commands):
    for names in commands:
        page = tarball.prefix / "share" / "man" / "man1" / f"{'-'.join(names)}.1.gz"
        shown = subprocess.run(
            ["man", "--warnings=mac", "--local-file", page],
            env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"},
            capture_output=True,
            text=True,
        )
        assert (shown.returncode, shown.stderr) == (0, ""), page
        assert f"\n       {' '.join(names)}" in shown.stdout
        # Nothing of the source is left: no request, no escape.
        assert not re.search(r"^\s*\.[A-Z]{2}\b|\\f[BIR]|\\-", shown.stdout, re.MULTILINE), page


def test_completions_know_each_command(package, commands):
    share = package.prefix / "share"
    scripts = {
        "bash": share / "bash-completion" / "completions" / "fanfare",
        "zsh": share / "zsh" / package.zsh / "_fanfare",
        "fish": share / "fish" / "vendor_completions.d" / "fanfare.fish",
    }
    for shell, script in scripts.items():
        words = set(re.findall(r"[\w-]+", script.read_text()))
        assert {name for names in commands for name in names} <= words
        if shutil.which(shell):
            assert subprocess.run([shell, "-n", script]).returncode == 0
    completed = subprocess.run(
        ["bash", "-O", "extglob", "-c", TYPED, scripts["bash"]],
        capture_output=True,
        text=True,
    )
    assert completed.stdout.split() == ["check"], completed.stderr
