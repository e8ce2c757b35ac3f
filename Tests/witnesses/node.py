"""Node with the browser client, which is copied from the broker as an app would from its package."""

import json
import subprocess

from declarations import read

#: The WebSocket of Debian's package node-ws, since Node has had one only since version 22.
WEB_SOCKET = 'const { default: WebSocket } = await import("/usr/share/nodejs/ws/index.js");'


class Node:
    """Runs modules in a folder with files of the broker."""

    def __init__(self, folder, broker, *names):
        self._folder = folder
        self._port = broker.port
        for name in names:
            (folder / name).write_text(read(broker, name))
        (folder / "package.json").write_text('{"type": "module"}')

    def run(self, script, seconds=30):
        """What `answer(value)` got in a script, which has `port`; it must end by itself."""
        (self._folder / "script.js").write_text(
            f"const port = {self._port}; const answer = (value) => console.log(JSON.stringify(value));\n{script}"
        )
        ended = subprocess.run(
            ["node", "script.js"], cwd=self._folder, capture_output=True, text=True, timeout=seconds
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)
