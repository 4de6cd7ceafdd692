"""The settings of OpenStack's services, as far as they are not what they are by default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PASSWORD = "only-for-tests"
REGION = "RegionOne"
PAGE = 3
"""Whatever is listed comes on pages of so many."""


def settings(folder: Path, programs: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """The content of every file."""
    keystone = f"http://127.0.0.1:{ports['keystone']}/v3"
    broker = f"rabbit://guest:guest@127.0.0.1:{ports['rabbit']}/"
    login = f"""
www_authenticate_uri = {keystone}
auth_url = {keystone}
auth_type = password
project_domain_name = Default
user_domain_name = Default
project_name = service
username = svc
password = {PASSWORD}
region_name = {REGION}
valid_interfaces = internal
"""
    token = f"[keystone_authtoken]{login}interface = internal\n"
    locks = f"[oslo_concurrency]\nlock_path = {folder}/locks\n"

    def database(name: str) -> str:
        return f"connection = mysql+pymysql://root@localhost/{name}?unix_socket={folder}/db.sock\n"

    return {
        "keystone.conf": f"""
[database]
{database("keystone")}
[fernet_tokens]
key_repository = {folder}/keystone/tokens
[fernet_receipts]
key_repository = {folder}/keystone/tokens
[credential]
key_repository = {folder}/keystone/credentials
[identity]
password_hash_rounds = 4
[cache]
enabled = true
backend = oslo_cache.dict
""",
        "placement.conf": f"""
[placement_database]
{database("placement")}
[api]
auth_strategy = keystone
{token}
""",
        "glance-api.conf": f"""
[DEFAULT]
enabled_backends = files:file
limit_param_default = {PAGE}
api_limit_max = {PAGE}
worker_self_reference_url = http://127.0.0.1:{ports["glance"]}
[glance_store]
default_backend = files
[files]
filesystem_store_datadir = {folder}/images
[os_glance_tasks_store]
filesystem_store_datadir = {folder}/tasks
[os_glance_staging_store]
filesystem_store_datadir = {folder}/staging
[database]
{database("glance")}
[paste_deploy]
flavor = keystone
config_file = {programs}/etc/glance/glance-api-paste.ini
{token}{locks}
""",
        "neutron.conf": f"""
[DEFAULT]
core_plugin = ml2
service_plugins = router
transport_url = {broker}
state_path = {folder}/neutron
api_paste_config = {programs}/etc/neutron/api-paste.ini
pagination_max_limit = {PAGE}
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
[database]
{database("neutron")}
[ml2]
type_drivers = local
tenant_network_types = local
mechanism_drivers = stead
{token}{locks}
[nova]{login}
""",
        "nova.conf": f"""
[DEFAULT]
transport_url = {broker}
state_path = {folder}/nova
instances_path = {folder}/nova/instances
compute_driver = stead_hypervisor.Driver
host = compute1
my_ip = 127.0.0.1
vif_plugging_is_fatal = false
vif_plugging_timeout = 0
service_down_time = 600
[api_database]
{database("nova_api")}
[database]
{database("nova")}
[api]
auth_strategy = keystone
max_limit = {PAGE}
[wsgi]
api_paste_config = {programs}/etc/nova/api-paste.ini
{token}{locks}
[service_user]
send_service_user_token = true{login}
[placement]{login}
[neutron]{login}
[cinder]{login}
[glance]
api_servers = http://127.0.0.1:{ports["glance"]}
[vnc]
enabled = false
[quota]
instances = -1
cores = -1
ram = -1
[conductor]
workers = 1
[scheduler]
workers = 1
""",
    }
