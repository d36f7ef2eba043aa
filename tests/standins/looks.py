"""A recorder of a cluster that observes only when a test asks for it, and the lines it wrote."""

import json

from pulsar_conformance.adapters.admin_api.remote import Access, AdminApi
from pulsar_conformance.adapters.operated.looking import ClusterObserver
from pulsar_conformance.audit.collect.files import Recording
from pulsar_conformance.audit.collect.recording import Recorder


class Recorded:
    """A recorder that observes the cluster once at each call of `look`."""

    def __init__(self, cluster, folder, seconds=5.0):
        self.folder, self.told = folder, []
        api = AdminApi(Access(cluster.url, seconds=seconds))
        self._recorder = Recorder(
            ClusterObserver.of(api, None), Recording(folder, "eu-1"), self.told.append
        )
        self._first = True

    def look(self):
        count = len(self.lines())
        self._recorder.observe(first=self._first)
        self._first = False
        return self.lines()[count:]

    def end(self):
        self._recorder.flush()

    def lines(self):
        files = sorted(self.folder.glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def happened(lines):
    """Return the content of lines other than load reports, without the cluster and the time."""
    return [
        {key: value for key, value in line.items() if key not in ("cluster", "at")}
        for line in lines
        if line["kind"] != "load_report"
    ]
