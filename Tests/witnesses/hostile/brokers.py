"""The brokers that are attacked: one with its file, and two nodes on Redis, with everything switched on."""

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

from cluster.servers import RedisServer
from ports import free_port
from programs import Broker

from .clients import CHANNELS

MIB = 1 << 20
#: The memory that the configuration gives to queues, to kept messages, and to Redis's commands that wait.
BUDGETS = {"queued_bytes_total_max": 64 * MIB, "retained_bytes_total_max": 32 * MIB}
#: What a broker needs beside its budgets: the program, its libraries, buffers of the loops, tables of connections.
BASE = 160 * MIB
#: Channels that attackers may subscribe to, and those with the stored messages, begin with this.
PREFIX = CHANNELS[0].split("-")[0] + "-"


class Attacked:
    """One or two brokers, and what must hold of them."""

    def __init__(self, name, webhook_url):
        """`name`: a key of `SETTINGS`."""
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._webhook_url = webhook_url
        self._files, clusters = [], [None]
        if name == "cluster":
            redis = RedisServer()
            self._stack.callback(redis.end)
            clusters = [
                {"engine": "redis", "node": f"node-{number}", "redis": {"urls": [f"redis://127.0.0.1:{redis.port}"]}}
                for number in (1, 2)
            ]
        for number, cluster in enumerate(clusters):
            file = self._folder / f"broker-{number}.json"  # JSON is YAML as well.
            file.write_text(json.dumps(self._configuration(number, cluster)))
            self._files.append(file)
        self.ports = [free_port() for _ in self._files]
        self._brokers = []
        self._start()

    def _configuration(self, number, cluster):
        rule = {"channel_prefix": PREFIX, "keep": "always", "rewind": True, "messages_max": 100_000, "bytes_max": 16 * MIB}
        rule["store"] = "memory" if cluster else "sqlite"
        app = {
            "id": Broker.app_id, "key": Broker.key, "secret": Broker.secret,
            "features": {"client_events": True, "users": True, "watchlist": True},
            "recovery": {"rules": [rule], "age_max": 3600},
            "webhooks": [{"url": self._webhook_url, "batching": True}],
        }
        configuration = {
            "loops": 2, "log": {"level": "warning"}, "apps": [app], "limits": BUDGETS,
            "webhooks": {"database": str(self._folder / f"webhooks-{number}.sqlite")},
            "metrics": {"port": 0},
            "console": {"port": free_port(), "password": "correct-horse-battery"},
        }
        if cluster:
            return {**configuration, "cluster": cluster}
        return {**configuration, "recovery": {"database": str(self._folder / "history.sqlite"), "database_bytes_max": 64 * MIB}}

    def _start(self):
        self._brokers = [Broker(port=port, configuration=file) for port, file in zip(self.ports, self._files)]

    @property
    def is_running(self):
        return not any(broker.has_ended for broker in self._brokers)

    @property
    def memory(self):
        """The largest resident size of a broker so far, in bytes."""
        return max(self._peak(broker.id) for broker in self._brokers)

    @staticmethod
    def _peak(process):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return 0  # It has just ended.

    def restart(self):
        """Ends all brokers as a loss of power does, and starts them again."""
        for broker in self._brokers:
            broker.kill()
        self._start()

    @property
    def last_lines(self):
        """The last lines that the brokers have printed."""
        lines = []
        for broker in self._brokers:
            lines += [line for line in broker.new_lines if line is not None][-20:]
        return "\n".join(lines)

    def close(self):
        for broker in self._brokers:
            broker.kill()
        self._stack.close()


#: What is attacked, by the name of its row.
SETTINGS = ("file", "cluster")
