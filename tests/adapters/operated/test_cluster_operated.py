"""`cluster:URL` on a scripted admin API judges a cluster by requests that only read."""

import json
import subprocess
import sys

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.admin_api.remote import TOKEN_VARIABLE, BadUrl
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.operated.address import Address
from pulsar_conformance.conformance.commands.main import main
from standins.staging import PACKAGE, StagingCluster

PROFILE = "documented-3.0"


@pytest.fixture
def cluster():
    fake = StagingCluster()
    yield fake
    fake.close()


@pytest.fixture
def judged(cluster, tmp_path, monkeypatch, capsys):
    """Return a function that runs the suite; it returns verdicts by rule, status and output."""
    monkeypatch.chdir(tmp_path)

    def run(*words, name=None):
        words = ["--adapter", name or f"cluster:{cluster.url}", "--out", "out", *words]
        status = main(["run", *words])
        said = "".join(capsys.readouterr())
        stream = tmp_path / "out" / "verdicts.jsonl"
        lines = map(json.loads, stream.read_text().splitlines()[1:]) if stream.exists() else ()
        return {line["rule"]: line for line in lines}, status, said

    return run


def passed(verdicts):
    return {rule for rule, line in verdicts.items() if line["verdict"] == "pass"}


SHOWN = {"BUNDLE-01", "BUNDLE-04", "BUNDLE-05", "MANAGER-01", "REPORT-01"}
"""Rules that can be judged by the state of a modular cluster with a namespace of two bundles."""


def test_a_cluster_is_judged_by_what_it_is(judged):
    verdicts, status, said = judged()
    assert status == 0
    assert passed(verdicts) == SHOWN
    others = {line["verdict"] for rule, line in verdicts.items() if rule not in SHOWN}
    assert others == {"not_applicable"}
    assert "the cluster answers only questions about itself" in said
    assert "eu-1: unloads, splits, placements and the effects of events are not tested" in said


def test_nothing_but_reading_requests_is_made(cluster, judged):
    before = json.dumps([cluster.owned, cluster.boundaries])
    judged()
    assert {command for _, command, _ in cluster.seen} == {"GET"}
    looked_up = [path for *_, path in cluster.seen if path.startswith("/lookup")]
    assert looked_up
    # Looking up a topic assigns its bundle. The range of a name can be asked without that.
    assert all(path.endswith("/bundle") for path in looked_up)
    assert json.dumps([cluster.owned, cluster.boundaries]) == before


def test_each_broker_is_asked_where_topics_lie(cluster, judged):
    judged()
    asked = {name for name, _, path in cluster.seen if path.startswith("/lookup")}
    assert asked == set(cluster.names)


def test_a_topic_beside_all_bundles_fails(cluster, judged):
    cluster.bundle_of = lambda topic: "shop/eu/0x00000000_0x10000000"
    verdicts, status, said = judged("--rules", "BUNDLE-04")
    assert (status, verdicts["BUNDLE-04"]["verdict"]) == (1, "fail")
    assert "BUNDLE-04 violated by eu-1 3.0.7" in said
    assert f"--adapter cluster:{cluster.url} " in said


def test_brokers_that_do_not_agree_where_a_topic_lies_fail(cluster, judged):
    answer, bundles = cluster.answer, [one.rpartition("/")[2] for one in cluster.bundles("shop/eu")]

    def two_minds(name, path):
        if path.startswith("/lookup"):
            return bundles[cluster.names.index(name)]
        return answer(name, path)

    cluster.answer = two_minds
    verdicts, _, _ = judged("--rules", "BUNDLE-05")
    assert verdicts["BUNDLE-05"]["verdict"] == "fail"


def test_bundles_with_a_gap_fail(cluster, judged):
    cluster.boundaries["shop/eu"] = ["0x00000000", "0x80000000", "0xfffffff0"]
    verdicts, _, said = judged("--rules", "BUNDLE-0*")
    assert verdicts["BUNDLE-01"]["verdict"] == "fail"
    assert verdicts["BUNDLE-04"]["verdict"] == "not_applicable"
    assert "0xfffffff0" in said


def test_another_load_manager_than_the_one_that_is_set_fails(cluster, judged):
    cluster.runtime["loadManagerClassName"] = f"{PACKAGE}SimpleLoadManagerImpl"
    verdicts, _, _ = judged("--rules", "MANAGER-0*", "--rules", "REPORT-0*")
    assert verdicts["MANAGER-01"]["verdict"] == "fail"
    assert verdicts["REPORT-01"]["verdict"] == "fail"


def test_a_class_that_was_set_dynamically_decides(cluster, judged):
    cluster.dynamic["loadManagerClassName"] = f"{PACKAGE}ModularLoadManagerImpl"
    verdicts, _, _ = judged("--rules", "MANAGER-0*")
    assert passed(verdicts) == {"MANAGER-02"}


def test_what_no_question_asks_is_reported(cluster, judged):
    one, two = cluster.names
    cluster.domains, cluster.groups = {"north": [one]}, {"shop/eu": "apart"}
    cluster.owned[two].append(cluster.owned[one][0])
    cluster.runtime["defaultNumberOfNamespaceBundles"] = "16"
    _, _, said = judged("--rules", "BUNDLE-01")
    assert f"eu-1: 2 brokers, {one} leads; 2 bundles owned, in 1 user namespace" in said
    assert "eu-1: bundle shop/eu/0x00000000_0x80000000 has several owners: " in said
    assert "eu-1: failure domains: north with 1 broker, 1 broker in none" in said
    assert "group apart: 1 namespace, served by 2 brokers (1 in no domain, 1 in north)" in said
    assert (
        "settings that differ from the documented defaults (in brackets): "
        "defaultNumberOfNamespaceBundles=16 (4)" in said
    )


def test_a_reader_is_informed_of_what_others_left(cluster, judged):
    cluster.tenants.add("conformance-0123abcd")
    for name in ("ns-1", "unset:loadBalancerSheddingEnabled=true"):
        cluster.divide(f"conformance-0123abcd/{name}", 1)
    cluster.domains["conformance-0123abcd-north"] = []
    _, _, said = judged("--rules", "BUNDLE-01")
    left = "left by a run that was killed or is still running: tenant conformance-0123abcd, "
    assert f"eu-1: {left}failure domain conformance-0123abcd-north, " in said
    assert "setting loadBalancerSheddingEnabled, which was not set, with true in force" in said


def test_check_asks_about_the_cluster_itself(cluster, capsys):
    assert main(["check", f"cluster:{cluster.url}"]) == 0
    assert "follows the protocol" in capsys.readouterr().out


def test_a_story_is_not_asked_of_a_cluster_that_is_only_read(cluster):
    with connect(f"cluster:{cluster.url}", PROFILE, {}) as connection:
        assert "cluster.replay" not in connection.hello.operations
        with pytest.raises(AdapterError, match="this cluster cannot answer"):
            connection.ask("cluster.replay", [{"settings": {}, "events": []}])


def test_a_case_about_something_else_is_unsupported(cluster):
    cases = {
        "bundles.create": {"bundles": 3, "settings": {}},
        "bundles.locate": {
            "boundaries": ["0x00000000", "0xffffffff"],
            "topics": ["persistent://a/b/c"],
        },
        "report.read": {"report": {"cpu": {"usage": 2.0, "limit": 3.0}}},
        "manager.choose": {"conf": "org.acme.Manager", "dynamic": None},
    }
    with connect(f"cluster:{cluster.url}", PROFILE, {}) as connection:
        assert set(connection.hello.operations) == set(cases)
        for operation, case in cases.items():
            [answer] = connection.ask(operation, [case])
            assert answer["unsupported"].startswith("this cluster can answer ")


def test_a_token_is_sent_and_never_printed(cluster, judged, tmp_path, monkeypatch):
    cluster.token = "very-secret"
    _, status, said = judged()
    assert status == 2
    assert "HTTP 401: the token is missing" in said
    file = tmp_path / "token"
    file.write_text("very-secret\n")
    verdicts, _, with_file = judged(name=f"cluster:{cluster.url},token-file={file}")
    assert passed(verdicts) == SHOWN
    monkeypatch.setenv(TOKEN_VARIABLE, "very-secret")
    verdicts, _, with_variable = judged()
    assert passed(verdicts) == SHOWN
    file.unlink()
    written = "".join(one.read_text() for one in tmp_path.rglob("*") if one.is_file())
    assert "very-secret" not in said + with_file + with_variable + written


def test_a_password_in_a_url_stands_nowhere(judged, tmp_path):
    _, status, said = judged(name="cluster:http://me:password@localhost:8080")
    assert status == 2
    assert said.count("\n") == 1
    assert "a URL must not contain a secret" in said
    assert "password" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["check", "ask", "predict"])
def test_no_command_repeats_a_password(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "cluster:http://me:password@localhost:8080"])
    said = "".join(capsys.readouterr())
    assert "a URL must not contain a secret" in said
    assert "password" not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://", "is not an admin URL"),
        ("http://localhost:port", "is not a URL"),
        ("http://localhost:8080/admin", "give only scheme, host and port"),
        ("http://localhost:8080,change=allowed", "did you mean changes=?"),
        ("http://localhost:8080,changes=yes", "write changes=allowed"),
        ("http://localhost:8080,manager=simple", "is not an option after a URL"),
        ("http://localhost:8080,token-file=/nowhere", "the token file /nowhere cannot be read"),
        ("http://localhost:8080,tls-trust=/nowhere", "/nowhere does not exist"),
    ],
)
def test_a_name_that_says_nothing_usable(text, said):
    with pytest.raises(BadUrl) as caught:
        Address.parse(text)
    assert said in str(caught.value)


def test_another_cluster_than_there_is(cluster):
    with pytest.raises(AdapterError) as caught:
        connect(f"cluster:{cluster.url},cluster=us-1", PROFILE, {})
    assert "choose from eu-1" in str(caught.value)


def test_a_broker_that_is_gone_is_an_error_and_no_violation(cluster, judged):
    answer = cluster.answer

    def hangs_up(name, path):
        if path.startswith("/lookup"):
            raise OSError("it is gone")
        return answer(name, path)

    cluster.answer = hangs_up
    verdicts, status, _ = judged("--rules", "BUNDLE-04")
    assert (status, verdicts["BUNDLE-04"]["verdict"]) == (2, "error")


@pytest.mark.parametrize("told", [5, {"a": 1}, [7], "<html>"])
def test_whatever_answers_there_is_one_clear_error(cluster, told):
    answer = cluster.answer
    cluster.answer = lambda name, path: told if path.endswith("/clusters") else answer(name, path)
    with pytest.raises(AdapterError) as caught:
        connect(f"cluster:{cluster.url}", PROFILE, {})
    assert caught.value.phase == "start"


def test_nothing_imports_a_jvm():
    module = "pulsar_conformance.adapters.names"
    code = f"import sys, {module}; print('jpype' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
