"""Roots of Debian made by debootstrap, in which programs run as on a machine that has nothing else.

With PACKAGE_ROOTS=FOLDER in the environment what was made stays there for the next run; delete the folder to start
again.
"""

import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

RELEASE = "bookworm"
# Seconds without progress after which a program is ended: the longest of a build is the optimization of the largest module.
STANDSTILL_MAX = 1800
STANDARD = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
}
# Packages are installed without questions, and without what they only recommend.
APT = ("apt-get", "--quiet", "--yes", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0")


def run_to_end(words, environment):
    """Runs a program for as long as it makes progress; returns its status and what it printed.

    A line is progress if it tells more than that time passes, as "step 8 of 10 (240 s)" behind "step 8 of 10 (210 s)".
    """
    process = subprocess.Popen(
        [*map(str, words)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A process group, so that all of it can be ended.
        start_new_session=True,
    )
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    said, latest, standstill = [], None, 0
    while standstill < STANDSTILL_MAX:
        begin = time.monotonic()
        try:
            line = lines.get(timeout=1)
            if line is None:
                return process.wait(), "".join(said)
            said.append(line)
            news = re.sub(r" \(\d+ s\)$", "", line.rstrip())
            if news != latest:
                latest, standstill = news, 0
        except queue.Empty:
            pass
        # In steps: a machine that is paused meanwhile has had one of them, not all.
        standstill += min(1, time.monotonic() - begin)
    os.killpg(process.pid, signal.SIGKILL)
    raise AssertionError(f"{shlex.join(map(str, words))}: no progress in {STANDSTILL_MAX} s\n{''.join(said)}")


class Root:
    """A folder with a system of its own. Its mounts are seen by the programs in it alone, and end with them."""

    def __init__(self, path, mounts=()):
        self.path = Path(path)
        # What else is seen in it: pairs of a folder of the machine, and the path in the root.
        self.mounts = list(mounts)

    def command(self, user=None, folder="/", mounts=()):
        """The words before a program that run it here. A user has no privilege, and gets none."""
        steps = ["set -e", 'mount -t proc proc "$0/proc"', 'mount --rbind /dev "$0/dev"']
        for source, target in [*self.mounts, *mounts]:
            place = f'"$0"{shlex.quote(str(target))}'
            steps += [f"mkdir -p {place}", f"mount --bind {shlex.quote(str(source))} {place}"]
        # A path of the machine that is in the root is the path there.
        steps.append('for word; do set -- "$@" "${word#"$0"}"; shift; done')
        confined = ["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
        if user:
            owner, _, group = user.partition(":")
            groups = "--clear-groups" if owner.isdigit() else "--init-groups"
            confined += [f"--reuid={owner}", f"--regid={group or owner}", groups]
        enter = f"exec chroot \"$0\" {shlex.join(confined) if user else ''} "
        # The last shell changes the folder, since chroot(8) leaves it at "/".
        steps.append(enter + f"sh -c 'cd {shlex.quote(folder)} && exec \"$0\" \"$@\"' \"$@\"")
        return ["unshare", "--mount", "sh", "-c", "\n".join(steps), str(self.path)]

    def run(self, *words, environment={}, check=True, **place):
        """Runs a program to its end; fails with all that it printed, unless its status is wanted."""
        status, output = run_to_end(
            [*self.command(**place), *words], {**STANDARD, "DEBIAN_FRONTEND": "noninteractive", **environment}
        )
        assert not check or status == 0, f"{shlex.join(map(str, words))}: {status}\n{output}"
        return subprocess.CompletedProcess(words, status, output)

    def apt(self, *words):
        return self.run(*APT, *words)

    def file(self, path):
        """A file of the root, as the machine sees it."""
        return self.path / str(path).lstrip("/")

    def copy(self, path, mounts=()):
        subprocess.run(["cp", "--archive", "--reflink=auto", self.path, path], check=True)
        return Root(path, [*self.mounts, *mounts])


def make(path, packages=()):
    """A root of the smallest Debian and these packages; one that is there already is taken."""
    if not path.exists():
        unfinished = path.with_name(path.name + ".unfinished")
        if unfinished.exists():
            shutil.rmtree(unfinished)
        status, output = run_to_end(
            ["debootstrap", "--variant=minbase", RELEASE, unfinished],
            {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
        )
        assert status == 0, output[-4000:]
        root = Root(unfinished)
        root.apt("update")
        if packages:
            root.apt("install", *packages)
        unfinished.rename(path)
    return Root(path)
