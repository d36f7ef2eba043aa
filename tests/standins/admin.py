"""A cluster's admin API with scripted answers, on loopback."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Ignore errors, since a test may kill the client while it waits for an answer."""


class FakeCluster:
    """Brokers that answer with the current values of `owned`, `leader` and other attributes."""

    def __init__(self, brokers=2):
        self.groups, self.domains, self.shed = {}, {}, 0
        self.boundaries = {}
        self.slow = set()
        self.seen = []
        self.by_hand = 0
        self.token = None
        self.let_go = threading.Event()
        self._servers = {}
        self.names = [self.start() for _ in range(brokers)]
        self.owned = {name: [] for name in self.names}
        self.leader = self.names[0]
        self.runtime = {
            "loadBalancerSheddingEnabled": "true",
            "brokerClientAuthenticationParameters": "token:secret",
        }

    @property
    def url(self):
        return f"http://{self.names[0]}"

    def start(self):
        server = Server(("127.0.0.1", 0), self._handler())
        name = f"127.0.0.1:{server.server_address[1]}"
        server.name = name
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self._servers[name] = server
        return name

    def stop(self, name):
        server = self._servers.pop(name)
        server.shutdown()
        server.server_close()
        self.owned.pop(name, None)

    def close(self):
        self.let_go.set()
        for name in list(self._servers):
            self.stop(name)

    def answer(self, name, path):
        space = path.removeprefix("/admin/v2/namespaces/").rpartition("/")[0]
        if path == "/admin/v2/clusters":
            return ["global", "eu-1"]
        if path == "/admin/v2/brokers/eu-1":
            return list(self.owned)
        if path.endswith("/ownedNamespaces"):
            return {bundle: {"is_active": True} for bundle in self.owned[name]}
        if path.endswith("/broker-stats/load-report"):
            return {"cpu": {"usage": 1.0, "limit": 100.0}, "bundles": self.owned[name]}
        if path.endswith("/leaderBroker"):
            return {"serviceUrl": f"http://{self.leader}"}
        if path.endswith("/configuration/runtime"):
            return self.runtime
        if path.endswith("/failureDomains"):
            return {one: {"brokers": brokers} for one, brokers in self.domains.items()}
        if path.endswith("/broker-stats/metrics"):
            return self.metrics()
        if path.endswith("/bundles"):
            return {"boundaries": self.boundaries[space]}
        if path.endswith("/antiAffinity"):
            return self.groups.get(space, "")
        return None

    def metrics(self):
        """Return the leader's metrics: all unloads, and those that an administrator requested."""
        total = {"brk_lb_unload_bundle_total": self.shed + self.by_hand}
        reason = {"result": "Success", "reason": "Admin"}
        breakdown = {"brk_lb_unload_broker_breakdown_total": self.by_hand}
        return [{"metrics": total}, {"dimensions": reason, "metrics": breakdown}]

    def _handler(self):
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                name = self.server.name
                cluster.seen.append((name, self.command, self.path))
                if name in cluster.slow:
                    cluster.let_go.wait(30)
                if cluster.token and self.headers.get("Authorization") != f"Bearer {cluster.token}":
                    return self.reply(401, {"reason": "who are you?"})
                found = cluster.answer(name, self.path)
                return self.reply(404 if found is None else 200, found)

            def reply(self, status, value):
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        return Handler
