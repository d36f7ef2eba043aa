"""A small cluster behind a scripted admin API: it has tenants, and assigns and splits bundles."""

import json
import re
import zlib
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from pulsar_conformance import specs
from standins.admin import FakeCluster

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
WHOLE = 1 << 32


class StagingCluster(FakeCluster):
    """A cluster that changes on requests. Each request in `breaks` fails once with HTTP 500."""

    def __init__(self, brokers=2):
        self.tenants, self.spaces, self.topics = {"shop"}, {}, set()
        self.dynamic, self.usage, self.breaks = {}, 1.0, []
        super().__init__(brokers)
        defaults = specs.load().defaults("documented-3.0").items()
        self.runtime |= {name: _text(value) for name, value in defaults}
        self.runtime["supportedNamespaceBundleSplitAlgorithms"] = "[range_equally_divide]"
        self.runtime["loadManagerClassName"] = f"{PACKAGE}ModularLoadManagerImpl"
        self.divide("shop/eu", 2)
        self.topics.add("persistent://shop/eu/orders")
        self.owned[self.names[0]] += self.bundles("shop/eu")

    def divide(self, space, count):
        step = WHOLE // count
        ends = [*range(0, WHOLE - step + 1, step), WHOLE - 1]
        self.boundaries[space] = [f"0x{end:08x}" for end in ends]
        self.spaces[space] = None

    def bundles(self, space):
        cuts = self.boundaries[space]
        return [f"{space}/{low}_{high}" for low, high in pairwise(cuts)]

    def bundle_of(self, topic):
        space = "/".join(topic.removeprefix("persistent://").split("/")[:2])
        value = zlib.crc32(topic.encode())
        cuts = [int(cut, 16) for cut in self.boundaries[space]]
        place = max(place for place, low in enumerate(cuts[:-1]) if low <= value)
        return self.bundles(space)[place]

    def owner(self, bundle):
        """Return a bundle's owner; if it has none, assign it to the broker with the fewest bundles.

        Bundles of the same anti-affinity group are counted first, then all bundles.
        """
        for name, held in self.owned.items():
            if bundle in held:
                return name
        group = self.groups.get(bundle.rpartition("/")[0])

        def load(name):
            alike = [one for one in self.owned[name] if self.groups.get(_space(one)) == group]
            return (len(alike) if group else 0), len(self.owned[name]), name

        name = min(self.owned, key=load)
        self.owned[name].append(bundle)
        return name

    def release(self, bundles):
        for held in self.owned.values():
            held[:] = [one for one in held if one not in bundles]

    def answer(self, name, path):
        if path == "/admin/v2/tenants":
            return sorted(self.tenants)
        if path == "/admin/v2/brokers/version":
            return "3.0.7"
        if path == "/admin/v2/brokers/configuration":
            return ["loadBalancerSheddingEnabled", "loadBalancerAutoUnloadSplitBundlesEnabled"]
        if path == "/admin/v2/brokers/configuration/values":
            return dict(self.dynamic)
        if path.endswith("/broker-stats/load-report"):
            cpu = {"usage": self.usage, "limit": 100.0}
            return {"cpu": cpu, "bundles": self.owned[name]}
        if match := re.fullmatch("/admin/v2/namespaces/([^/]+)", path):
            return sorted(one for one in self.spaces if one.startswith(f"{match[1]}/"))
        if match := re.fullmatch("/admin/v2/persistent/([^/]+/[^/]+)", path):
            return sorted(one for one in self.topics if one.startswith(f"persistent://{match[1]}/"))
        if match := re.fullmatch("/lookup/v2/topic/persistent/(.*)/bundle", path):
            return self.bundle_of(f"persistent://{match[1]}").rpartition("/")[2]
        if match := re.fullmatch("/lookup/v2/topic/persistent/(.*)", path):
            owner = self.owner(self.bundle_of(f"persistent://{match[1]}"))
            return {"httpUrl": f"http://{owner}"}
        if path.endswith("/bundles") and _named(path) not in self.boundaries:
            return None
        return super().answer(name, path)

    def change(self, method, path, body):
        """Apply a request that changes the cluster, and return its HTTP status."""
        parts = urlsplit(path).path.removeprefix("/admin/v2/").split("/")
        kind, name = parts[0], "/".join(parts[1:3])
        if kind == "tenants":
            if method == "PUT":
                self.tenants.add(parts[1])
            elif any(one.startswith(f"{parts[1]}/") for one in self.spaces):
                return 409
            elif parts[1] not in self.tenants:
                return 404
            self.tenants -= {parts[1]} if method == "DELETE" else set()
        elif kind == "persistent":
            return self._topic(method, f"persistent://{'/'.join(parts[1:4])}", parts[4:])
        elif kind == "brokers":
            return self._setting(method, *parts[2:])
        elif kind == "clusters":
            return self._domain(method, parts[3], body)
        elif kind == "namespaces":
            return self._namespace(method, name, parts[3:], body)
        return 204

    def _topic(self, method, topic, more):
        if method == "PUT" and not more:
            self.topics.add(topic)
            self.owner(self.bundle_of(topic))
        elif topic not in self.topics:
            return 404
        elif method == "DELETE":
            self.topics.remove(topic)
        return 204

    def _setting(self, method, name, value=None):
        if method == "POST":
            self.dynamic[name] = self.runtime[name] = unquote(value)
            return 204
        return 204 if self.dynamic.pop(name, None) is not None else 404

    def _domain(self, method, name, body):
        if method == "DELETE":
            return 204 if self.domains.pop(name, None) is not None else 404
        brokers = json.loads(body)["brokers"]
        elsewhere = [one for other, held in self.domains.items() if other != name for one in held]
        if set(brokers) & set(elsewhere):
            return 409
        self.domains[name] = brokers
        return 204

    def _namespace(self, method, space, more, body):
        if method == "PUT" and not more:
            self.divide(space, json.loads(body).get("bundles", {"numBundles": 4})["numBundles"])
            return 204
        if space not in self.spaces:
            return 404
        if more == ["antiAffinity"]:
            self.groups[space] = body if method == "POST" else ""
        elif more == ["unload"]:
            self.release(self.bundles(space))
        elif more[1:] == ["unload"]:
            self.release([f"{space}/{more[0]}"])
        elif more[1:] == ["split"]:
            low, high = (int(end, 16) for end in more[0].split("_"))
            self.release([f"{space}/{more[0]}"])
            cuts = {*self.boundaries[space], f"0x{(low + high) // 2:08x}"}
            self.boundaries[space] = sorted(cuts)
        else:
            if any(topic.startswith(f"persistent://{space}/") for topic in self.topics):
                return 409
            self.release(self.bundles(space))
            self.groups.pop(space, None)
            del self.spaces[space], self.boundaries[space]
        return 204

    def _handler(self):
        cluster = self

        class Handler(super()._handler()):
            disable_nagle_algorithm = True

            def changed(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size).decode()
                cluster.seen.append((self.server.name, self.command, self.path))
                if self.server.name in cluster.slow:
                    cluster.let_go.wait(30)
                broken = next((one for one in cluster.breaks if one in self.path), None)
                if broken:
                    cluster.breaks.remove(broken)
                    return self.reply(500, {"reason": "it breaks"})
                status = cluster.change(self.command, unquote(self.path), body)
                return self.reply(status, {} if status == 204 else {"reason": f"{status}"})

            def reply(self, status, value):
                if status == 204:
                    self.send_response(204)
                    self.end_headers()
                else:
                    super().reply(status, value)

        for method in ("PUT", "POST", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.changed)
        return Handler


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _space(bundle):
    return bundle.rpartition("/")[0]


def _named(path):
    return path.removeprefix("/admin/v2/namespaces/").rpartition("/")[0]
