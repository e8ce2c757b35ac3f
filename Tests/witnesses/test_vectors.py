"""The vectors that all clients pass, with the JavaScript that the broker serves; Swift runs them in its own tests."""

import re
import subprocess
from pathlib import Path

VECTORS = Path(__file__).parent.parent / "vectors"


def test_the_clients_for_browsers_pass_all_vectors():
    result = subprocess.run(["node", VECTORS / "run.mjs"], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    # None is left out by accident.
    count = int(re.match(r"(\d+) vectors", result.stdout)[1])
    assert count >= 300
