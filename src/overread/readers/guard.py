"""The data-use guard: pixels and text of a credentialed set never leave for a public host.

What is checked is the address really connected to, when its socket is made, before a byte is sent:
a name that resolves to a public address is caught whatever it looks like.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

import msgspec

from overread.case import BadInput, Policy, ReaderFailure

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Spelt out, not `is_private`: that property also holds for documentation and carrier-grade ranges.
_PRIVATE = tuple(
    ipaddress.ip_network(n)
    for n in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
)


def plain_host(host: str) -> str:
    """A host as it is compared: `LocalHost.` is localhost, `127.1` and `0x7f000001` 127.0.0.1.

    Sockets take an address in all those spellings, so a name that looks like none may be one.
    """
    host = host.lower().removesuffix(".")
    try:
        ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        try:
            return str(ipaddress.IPv4Address(socket.inet_aton(host)))
        except (OSError, ValueError):
            pass
    return host


def is_private(address: str) -> bool:
    """Whether an IP address is loopback or private; a v4 address inside a v6 one is unwrapped."""
    try:
        parsed: Address = ipaddress.ip_address(plain_host(address).split("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed.version == net.version and parsed in net for net in _PRIVATE)


def on_this_network(host: str) -> bool:
    """Whether a host as a URL names it is this machine, or has a private address for its name."""
    return plain_host(host) == "localhost" or is_private(host)


class Guard(msgspec.Struct, frozen=True):
    """What may go where: the data set's policy and the hosts its user named under `share_with`."""

    policy: Policy = "credentialed"
    share_with: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        return self.policy == "credentialed"

    def allows(self, host: str, address: str) -> bool:
        return not self.closed or self._shares(host) or is_private(address)

    def _shares(self, host: str) -> bool:
        return plain_host(host) in map(plain_host, self.share_with)

    def check_proxy(self, host: str, proxy_host: str) -> None:
        """A proxy counts as a host, and behind one the final address cannot be seen.

        So through a proxy both names must have been allowed; a private proxy is not enough, since
        it forwards to wherever the URL says.
        """
        if not self.closed:
            return
        for name, what in ((host, "the server"), (proxy_host, "the proxy")):
            if not self._shares(name) and not (what == "the proxy" and on_this_network(name)):
                raise BadInput(self.refusal(name, f"{what} of a reader that goes through a proxy"))

    def socket_for(self, host: str, address_info: Any) -> socket.socket:
        """Make the socket for one resolved address, or refuse before anything is sent."""
        family, kind, protocol, _, target = address_info
        if not self.allows(host, str(target[0])):
            raise self.refused(host, str(target[0]))
        made = socket.socket(family=family, type=kind, proto=protocol)
        made.setblocking(False)
        return made

    def refused(self, host: str, address: str) -> ReaderFailure:
        said = self.refusal(host, f"address {address}")
        return ReaderFailure(f"data-use guard: {said}", heals=False)

    def refusal(self, host: str, what: str) -> str:
        return (
            f"the data set is credentialed and {host} ({what}) is not a loopback or private "
            f'address. Nothing was sent. If your agreement allows it, add share_with = ["{host}"] '
            "to ~/.config/overread/config.toml; if the set is open, say so in its dataset.toml."
        )
