"""Founds the bus of a cell: an authority, an operator, the cell's account, a controller, and a server's settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import msgspec

from stead.bus.permissions import services_for_agents, services_of_agents
from stead.pki import certificates, claims, files, identity
from stead.pki.certificates import Signer
from stead.pki.claims import EVERYTHING, Permissions
from stead.pki.identity import Description, described
from stead.pki.issuer import ISSUER, ISSUER_KEY, ISSUING, SYSTEM, SigningKeys, agents_account
from stead.pki.nkeys import Key, Role

CONTROLLER, NATS, ROOT = "controller", "nats", "root"
"""Folders: what servers and controllers hold, what the bus holds, and what is put away."""

YEARS_10, YEAR = 3650, 365

SYSTEM_MAY = Permissions(("$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP"), ("_INBOX.>",))
"""What a controller may do in the account of the system: say who is revoked, and ask who is."""

MAX_LINE_BYTES = 1_000_000
"""Bytes that a client may say when it connects: its claims name every subject that it may use."""

SETTINGS = """\
# The bus of the cell {cell}. Start it in this folder: nats-server -c nats.conf
# Who does not show a certificate of this cell's authority, and claims that its account has signed, is not let in.
listen: "{listen}"
server_name: "{cell}-bus-1"
max_control_line: {line}
pid_file: "nats.pid"

tls {{
  cert_file: "server.pem"
  key_file: "server.key"
  ca_file: "ca.pem"
  verify: true
  min_version: "1.3"
}}

jetstream {{
  store_dir: "jetstream"
}}

operator: "operator.jwt"
system_account: {system}

# Claims that controllers push, such as who was revoked, are kept here and hold at once.
resolver {{
  type: full
  dir: "accounts"
  allow_delete: false
  interval: "2m"
}}
resolver_preload {{
  {system}: {system_jwt}
  {account}: {account_jwt}
  {agents}: {agents_jwt}
}}
"""


@dataclass(frozen=True)
class InitializedCell:
    """Where everything is."""

    folder: Path

    @property
    def controller(self) -> Path:
        return self.folder / CONTROLLER

    @property
    def nats(self) -> Path:
        return self.folder / NATS


def found(folder: Path, cell: str, hosts: Sequence[str], port: int) -> InitializedCell:
    """Make all of it, in a folder that has none of it yet."""
    for part in ("ca.pem", ROOT, CONTROLLER, NATS):
        if (folder / part).exists():
            raise files.FileExists(f"{folder / part} is there already, and is not written over")
    above = certificates.authority(f"stead {cell}", YEARS_10)
    operator, signs_accounts = Key.new(Role.OPERATOR), Key.new(Role.OPERATOR)
    system, account, agents = Key.new(Role.ACCOUNT), Key.new(Role.ACCOUNT), Key.new(Role.ACCOUNT)
    signs_agents = Key.new(Role.ACCOUNT)
    name = f"stead-{cell}"
    authority = certificates.text_of(above.certificate)
    files.write_new(folder, {"ca.pem": authority})
    files.write_new(
        folder / ROOT,
        {
            "ca.key": certificates.key_text(above.key),
            "operator.seed": operator.seed + "\n",
            "system.seed": system.seed + "\n",
            "account.seed": account.seed + "\n",
            "agents.seed": agents.seed + "\n",
        },
    )
    issuing = SigningKeys(
        account.public,
        agents.public,
        f"{name}-agents",
        [signs_agents.public],
        signs_agents.seed,
        signs_accounts.seed,
    )
    bus = [f"tls://{hosts[0]}:{port}"]
    _controller(folder / CONTROLLER, above, cell, bus, issuing, system, account)
    certificate, key = certificates.server(above, hosts, YEAR)
    files.write_new(
        folder / NATS,
        {
            "ca.pem": authority,
            "server.pem": certificate,
            "server.key": key,
            "operator.jwt": claims.operator(operator, "stead", [signs_accounts.public], system.public) + "\n",
            "nats.conf": SETTINGS.format(
                cell=cell,
                listen=f"0.0.0.0:{port}",
                line=MAX_LINE_BYTES,
                system=system.public,
                system_jwt=claims.account(signs_accounts, system.public, "SYS"),
                account=account.public,
                account_jwt=claims.account(
                    signs_accounts,
                    account.public,
                    name,
                    jetstream=True,
                    exports=services_for_agents(cell),
                    imports=services_of_agents(cell),
                    of=agents.public,
                ),
                agents=agents.public,
                agents_jwt=agents_account(signs_accounts, issuing, cell),
            ),
        },
    )
    return InitializedCell(folder)


def _controller(
    folder: Path, above: Signer, cell: str, bus: list[str], issuing: SigningKeys, system: Key, account: Key
) -> None:
    """The identity of servers and controllers, with all that they need to give identities out."""
    below = certificates.issuer(above, f"stead {cell} clients", YEARS_10)
    user, in_system, key = Key.new(Role.USER), Key.new(Role.USER), certificates.new_key()
    jwt = claims.user(account, account.public, user.public, CONTROLLER, EVERYTHING)
    system_jwt = claims.user(system, system.public, in_system.public, CONTROLLER, SYSTEM_MAY)
    files.write_new(
        folder,
        {
            identity.AUTHORITY: certificates.text_of(above.certificate),
            identity.CERTIFICATE: certificates.client(below, CONTROLLER, key.public_key(), timedelta(days=YEAR)),
            identity.KEY: certificates.key_text(key),
            identity.CREDENTIALS: claims.credentials(jwt, user.seed),
            identity.DESCRIPTION: described(Description(CONTROLLER, cell, bus, CONTROLLER)),
            ISSUER: certificates.text_of(below.certificate),
            ISSUER_KEY: certificates.key_text(below.key),
            ISSUING: msgspec.json.format(msgspec.json.encode(issuing), indent=2).decode() + "\n",
            SYSTEM: claims.credentials(system_jwt, in_system.seed),
        },
    )


def server_certificate(folder: Path, hosts: Sequence[str], days: float = YEAR) -> tuple[Path, Path]:
    """One more certificate for a server, in a file named after its first host."""
    above = Signer.read((folder / "ca.pem").read_text(), (folder / ROOT / "ca.key").read_text())
    certificate, key = certificates.server(above, hosts, days)
    files.write_new(folder / "servers", {f"{hosts[0]}.pem": certificate, f"{hosts[0]}.key": key})
    return folder / "servers" / f"{hosts[0]}.pem", folder / "servers" / f"{hosts[0]}.key"


def certificates_in(folder: Path) -> list[Path]:
    """Every certificate below a folder."""
    return sorted(path for path in folder.rglob("*.pem") if "PRIVATE KEY" not in path.read_text())
