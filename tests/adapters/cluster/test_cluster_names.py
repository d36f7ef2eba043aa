"""Names after `cluster:` are parsed, and any other name gives an error."""

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.cluster.target import BadCluster, ClusterTarget
from pulsar_conformance.adapters.names import connect

PROFILE = "documented-3.0"


def test_a_version_alone_is_a_modular_cluster():
    target = ClusterTarget.parse("3.0.7")
    assert (target.release, target.manager, dict(target.settings)) == ("3.0.7", "modular", {})


def test_manager_brokers_and_settings():
    target = ClusterTarget.parse("4.0.7,manager=simple,brokers=3,set=a=1,set=b=")
    assert (target.manager, target.brokers) == ("simple", 3)
    assert target.settings == {"a": "1", "b": ""}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names neither a version nor a folder"),
        ("3.0.7,manger=simple", "did you mean manager=?"),
        (
            "3.0.7,manager=swift",
            "'swift' is not a load manager; choose from simple, modular, extensible",
        ),
        ("3.0.7,brokers=many", "write a number from 1 to 99"),
        ("3.0.7,brokers=0", "write a number from 1 to 99"),
        ("3.0.7,set=a", "set=NAME=VALUE"),
        ("3.0.7,now", "'now' is not an option here"),
    ],
)
def test_a_name_that_says_nothing_usable(text, said):
    with pytest.raises(BadCluster) as caught:
        ClusterTarget.parse(text)
    assert said in str(caught.value)


def test_neither_a_release_nor_a_folder():
    with pytest.raises(AdapterError) as caught:
        connect("cluster:3.0.x", PROFILE, {})
    assert (
        "is neither a folder nor a version that can be downloaded; give a version, 2.8 or later"
        in str(caught.value)
    )


def test_a_folder_without_a_broker(tmp_path):
    with pytest.raises(AdapterError) as caught:
        connect(f"cluster:{tmp_path}", PROFILE, {})
    assert "has no pulsar-broker-VERSION.jar" in str(caught.value)
