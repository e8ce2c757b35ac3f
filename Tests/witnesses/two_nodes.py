"""Two nodes behind a load balancer, in place of one broker."""

import itertools
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

from cluster.nodes import Balancer
from cluster.servers import RedisServer
from programs import Broker


class TwoNodes:
    """What tests know of a broker, on two nodes: of two connections, each is at another node."""

    app_id, key, secret = Broker.app_id, Broker.key, Broker.secret

    def __init__(self, certificate=None):
        self._stack = ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        redis = RedisServer()
        self._stack.callback(redis.end)
        self.nodes = [
            self._stack.enter_context(
                Broker(certificate=certificate, configuration=self._configuration(folder, f"node-{number}", redis))
            )
            for number in (1, 2)
        ]
        self.port = self._balanced(node.port for node in self.nodes)
        self.tls_port = self._balanced(node.tls_port for node in self.nodes) if certificate else None
        self.url = f"http://127.0.0.1:{self.port}"
        self.tls_url = f"https://localhost:{self.tls_port}"

    def _configuration(self, folder, name, redis):
        features = {"client_events": True, "subscription_count": True}
        app = {"id": self.app_id, "key": self.key, "secret": self.secret, "features": features}
        cluster = {"engine": "redis", "node": name, "redis": {"urls": [f"redis://127.0.0.1:{redis.port}"]}}
        file = folder / f"{name}.json"  # JSON is YAML as well.
        file.write_text(json.dumps({"apps": [app], "cluster": cluster}))
        return file

    def _balanced(self, ports):
        balancer = Balancer(itertools.cycle(ports).__next__, seed=1)
        self._stack.callback(balancer.close)
        return balancer.listen("clients")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()
