"""Infrastructure files: what a person may leave out, and what is said of mistakes."""

from __future__ import annotations

import json

import msgspec
import pytest

from stead.catalog import infrastructure
from stead.lifecycle.files.decoded import InvalidDescription
from stead.lifecycle.files.problems import DocumentError

FILE = """
defaults: {spec: small, image: debian-12, region: us-east-1}
subgroups:
  - {name: front, provider: aws, size: 3}
  - {name: back, provider: gcp, region: asia, spec: large, network: inner}
networks:
  - {name: inner, cidr: 10.9.0.0/16}
sshKeys:
  - {publicKey: ssh-ed25519 AAAA me}
"""


def test_what_is_left_out_is_what_the_defaults_say() -> None:
    front, back = infrastructure.parts(infrastructure.read(infrastructure.parse(FILE)))
    assert (front.lane, front.spec, front.image, front.size, front.network) == (
        "aws.us-east-1",
        "small",
        "debian-12",
        3,
        "default",
    )
    assert (back.lane, back.spec, back.size) == ("gcp.asia", "large", 1)
    assert (back.network, back.ssh_key) == ("inner", "default")


def test_what_vms_share_is_named_by_place() -> None:
    wanted = infrastructure.shared_by("/shop/web", infrastructure.read(infrastructure.parse(FILE)))
    assert sorted(wanted) == [
        "/shop/networks/aws.us-east-1.default",
        "/shop/networks/gcp.asia.inner",
        "/shop/securitygroups/aws.us-east-1.default.default",
        "/shop/securitygroups/gcp.asia.inner.default",
        "/shop/sshkeys/aws.us-east-1.default",
        "/shop/sshkeys/gcp.asia.default",
    ]
    assert wanted["/shop/networks/gcp.asia.inner"].spec["cidr"] == "10.9.0.0/16"
    assert wanted["/shop/sshkeys/gcp.asia.default"].spec["publicKey"] == "ssh-ed25519 AAAA me"
    group = "/shop/securitygroups/gcp.asia.inner.default"
    assert infrastructure.network_of(group) == "/shop/networks/gcp.asia.inner"
    assert group.startswith(infrastructure.groups_in("/shop/networks/gcp.asia.inner"))


def test_what_is_wanted_is_the_same_when_it_is_read_back() -> None:
    rules = "securityGroups:\n  - {rules: [{ports: '22'}, {protocol: udp, ports: '53', from: 10.0.0.0/8}]}\n"
    wanted = infrastructure.shared_by("/shop/web", infrastructure.read(infrastructure.parse(FILE + rules)))
    for need in wanted.values():
        assert msgspec.json.decode(msgspec.json.encode(need.spec)) == need.spec
    spec = wanted["/shop/securitygroups/aws.us-east-1.default.default"].spec
    assert spec["rules"] == [{"ports": "22"}, {"protocol": "udp", "ports": "53", "from": "10.0.0.0/8"}]


def test_without_a_key_none_is_wanted() -> None:
    spec = {"name": "a", "provider": "aws", "region": "r", "spec": "s", "image": "i"}
    wanted = infrastructure.shared_by("/shop/web", infrastructure.read({"subgroups": [spec]}))
    assert {need.kind for need in wanted.values()} == {"network", "securitygroup"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ["f:1: the document is empty"]),
        ("subgroups: []", ["f:1: subgroups: there has to be one at least"]),
        ("{}", ["f:1: it needs subgroups"]),
        (
            "subgroups:\n- name: a\n  provider: aws\n  regoin: r\n",
            ["f:4: subgroups[0].regoin: there is no such field; did you mean region?"],
        ),
        ("subgroups:\n- name: Front\n", ["f:2: subgroups[0].name: a name has a-z, 0-9 and dashes"]),
        (
            "defaults: {spec: s, image: i, provider: p}\nsubgroups:\n- {name: a, region: r}\n- name: a\n",
            [
                "f:4: subgroups[1].name: a is the name of subgroup 1, too",
                "f:4: subgroups[1]: it needs region, here or under defaults",
            ],
        ),
        (
            "defaults: {spec: s, image: i, provider: p, region: r}\nsubgroups: [{name: a, size: 100000}, {name: b}]",
            ["f:2: subgroups: 100,001 VMs are more than the 100,000 that one infrastructure can have"],
        ),
        (
            "defaults: {spec: s, image: i, provider: p, region: r}\nsubgroups: [{name: a}]\nsshKeys: [{name: me}]\n",
            ["f:3: sshKeys[0]: it needs publicKey"],
        ),
        ("subgroups: &a [*a]", ["f:1: an alias (*) is not allowed here: write it out"]),
    ],
)
def test_mistakes_are_told_with_their_lines(text: str, says: list[str]) -> None:
    with pytest.raises(DocumentError) as wrong:
        infrastructure.parse(text, "f")
    assert list(wrong.value.messages) == says


def test_a_request_is_held_to_its_types() -> None:
    group = {"name": "a", "provider": "aws", "region": "r", "spec": "s", "image": "i", "size": "3"}
    with pytest.raises(InvalidDescription, match=r"subgroups.0.size: expected a whole number, not text"):
        infrastructure.read({"subgroups": [group]})


def test_the_schema_names_every_field() -> None:
    said = json.dumps(infrastructure.schema())
    for kind in (infrastructure.Infrastructure, infrastructure.Subgroup, infrastructure.SecurityGroup):
        for field in msgspec.structs.fields(kind):
            assert f'"{field.encode_name}"' in said
