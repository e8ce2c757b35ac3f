"""The nodes, and the ways to them: a load balancer for clients, and relays to Redis that fail."""

import json
import random
import signal
import time

from ports import free_port
from programs import Broker
from recovery.relay import Relay

from .servers import PRIMARY_NAME

#: Seconds without a heartbeat after which a node is dead.
LEASE = 4


class Balancer(Relay):
    """Connects clients to any of the nodes; one that refuses is tried again at another."""

    def __init__(self, choose, seed):
        """`choose`: returns the port of the node that gets the next connection."""
        self._choose = choose
        super().__init__(None, seed)

    @property
    def broker_port(self):
        return self._choose()

    @broker_port.setter
    def broker_port(self, _):
        pass


def any_running(nodes):
    """The port of a node that runs, another one each time."""
    return random.choice([node.port for node in nodes if node.is_running])


class Node:
    """One broker of the cluster, behind a relay of its own to Redis, or with the Sentinels' addresses."""

    def __init__(self, number, folder, webhook, relay=None, sentinels=None, **cluster):
        self.name = f"node-{number}"
        self.port = free_port()
        self.is_running = False
        self._file = folder / f"{self.name}.json"  # JSON is YAML as well.
        redis = cluster.pop("redis", {})
        if sentinels:
            redis["urls"] = [f"redis://{PRIMARY_NAME}"]
            redis["sentinels"] = [f"redis://127.0.0.1:{port}" for port in sentinels.ports]
        else:
            redis["urls"] = [f"redis://127.0.0.1:{relay.listen(self.name)}"]
        rules = [{"channel_prefix": "channel-", "keep": "always"}]
        recovery = {"rules": rules, "messages_max": 10_000, "bytes_max": 16 << 20, "replay_bytes_max": 16 << 20}
        app = {"id": Broker.app_id, "key": Broker.key, "secret": Broker.secret, "recovery": recovery}
        app["webhooks"] = [webhook]
        self._file.write_text(
            json.dumps(
                {
                    "loops": 2,
                    "clients": {"activity_timeout": 3, "pong_timeout": 2},
                    "shutdown": {"deadline": 3},
                    "log": {"level": "warning"},
                    "apps": [app],
                    "webhooks": {"database": str(folder / f"{self.name}.sqlite")},
                    "cluster": {
                        **{"engine": "redis", "node": self.name, "partitions": 16, "lease": LEASE},
                        **{"close_after": 6, "redis": redis}, **cluster,
                    },
                }
            )
        )
        self._broker = None

    def start(self):
        self._broker = Broker(port=self.port, configuration=self._file)
        self.is_running = True

    def kill(self):
        self.is_running = False
        self._broker.kill()

    def stop(self):
        """Ends it as a supervisor does: clients go to other nodes."""
        self.is_running = False
        self._broker.signal(signal.SIGTERM)
        self._broker.wait()

    def pause(self):
        # A load balancer does not know.
        self._broker.signal(signal.SIGSTOP)

    def resume(self):
        self._broker.signal(signal.SIGCONT)

    def end(self):
        if self._broker:
            self._broker.signal(signal.SIGCONT)
            self._broker.kill()


class Backends:
    """What backends connect to: another node behind each failure."""

    app_id, key, secret = Broker.app_id, Broker.key, Broker.secret

    def __init__(self, nodes):
        self._nodes = nodes

    @property
    def port(self):
        while not (ports := [node.port for node in self._nodes if node.is_running]):
            time.sleep(0.05)
        return random.choice(ports)

