"""The broker needs no privilege and nothing to write to: config/fanfare.service and the Dockerfile take both away."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import ROOT, Broker, await_true, run
from pysher_client import Subscriber

NOBODY = 65534
CONFINED = (
    *("unshare", "--mount", "sh", "-c", 'mount -o remount,bind,ro / && exec "$0" "$@"'),
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"),
    *("--inh-caps=-all", "--bounding-set=-all"),
)


def status(broker):
    text = Path(f"/proc/{broker.id}/status").read_text()
    return dict(re.findall(r"^(\w+):\s*(.*)$", text, re.MULTILINE))


def test_without_privileges_and_on_a_read_only_file_system():
    probe = subprocess.run([*CONFINED, "true"], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"nothing can be taken away here: {probe.stderr.strip()}")
    with Broker(through=CONFINED) as broker:
        seen = status(broker)
        assert seen["Uid"].split() == [str(NOBODY)] * 4
        assert {seen[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
        assert seen["NoNewPrivs"] == "1"
        mounts = Path(f"/proc/{broker.id}/mountinfo").read_text().splitlines()
        [root] = [fields for fields in map(str.split, mounts) if fields[4] == "/"]
        assert "ro" in root[5].split(",")
        with Subscriber(broker, "news") as subscriber:
            sent = run("fanfare", "trigger", "greeting", "1", "--channel", "news", "--url", broker.url)
            assert sent.returncode == 0, sent.stderr
            assert subscriber.next() == ("news", "greeting", "1")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is told that it should not be root")
def test_root_on_a_network_is_told_so(tmp_path):
    file = tmp_path / "fanfare.yaml"
    file.write_text("listen: {host: 0.0.0.0}\napps: [{id: 1, key: own-key, secret: own-secret}]\n")
    with Broker(configuration=file) as broker:
        # The log is written by a thread of its own.
        def is_told():
            return broker.new_lines is not None and "runs as root" in broker.output

        await_true(is_told, "a warning")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_unit_is_sound_and_tight(tmp_path):
    unit = tmp_path / "fanfare.service"
    text = (ROOT / "config" / "fanfare.service").read_text()
    # The program need not be installed where the unit says.
    unit.write_text(text.replace("/usr/local/bin/fanfare", "/bin/true"))
    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=15", unit],
        capture_output=True,
        text=True,
    )
    assert judged.returncode == 0, judged.stdout
