"""Reading `approvals.notify`: who is told of every question, and how. Tells nobody."""

from __future__ import annotations

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, ListOf, Reading
from callgate.settings.leaves import Flag, Text
from callgate.settings.servers import SECRET_NAME, SERVER
from callgate.settings.values import NotifySettings


def _build(fields: Fields, _: Reading) -> NotifySettings:
    if ("webhook" in fields) == ("command" in fields):
        raise Fault("needs either webhook: or command:, and not both")
    if "command" in fields and ("secret" in fields or "private_addresses" in fields):
        raise Fault("secret and private_addresses are for a webhook; leave them out")
    if "webhook" in fields and "secret" not in fields:
        raise Fault("a webhook needs secret: connector/key, which its requests are signed with")
    if "command" in fields and not fields["command"]:
        raise Fault("command names no program")
    return NotifySettings(**fields)


NOTIFY = Block(
    {
        "webhook": Key(SERVER, "Where a signed request is sent."),
        "secret": Key(SECRET_NAME, "Where the key of the signature is kept with the secrets, as connector/key."),
        "private_addresses": Key(Flag(), "Whether that server may be on this machine or its network.", default=False),
        "command": Key(
            ListOf(Text(needs="a word", longest=4096)),
            "A program and its arguments; the message is its standard input.",
        ),
    },
    _build,
)
