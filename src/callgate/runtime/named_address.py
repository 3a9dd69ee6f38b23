"""The grounds of a request to an address that the operator named: where it leads is all that is judged."""

from __future__ import annotations

from callgate.model.grounds import Grounds


def grounds_of_named(*, private_addresses: bool) -> Grounds:
    """Any host, no file; whether it may be on this machine or its network is the operator's word too."""
    return Grounds(
        directory="/",
        roots=(),
        closed=(),
        git=(),
        code=(),
        private_addresses=private_addresses,
        path_refused=lambda _path, _found: "this touches no file",
        host_refused=lambda _place: None,
    )
