"""Ways out of a sandbox, each one line for `sh`, with the names that `World.names` gives.

What a command is not to do it either does to the world, or says the canary when it could.
"""

from __future__ import annotations

import platform

_X86 = platform.machine() == "x86_64"
_ADD_KEY = 248 if _X86 else 217


def _python(code: str) -> str:
    return f'python3 -c "{code}"'


def _connect(family: str, address: str) -> str:
    return _python(f"import socket; s = socket.socket({family}); s.connect({address}); s.send(b'x')")


_LIBC = "import ctypes; c = ctypes.CDLL(None, use_errno=True)"

WAYS: dict[str, str] = {
    # files outside
    "write-outside": "echo x > {out}/planted",
    "append-outside": "echo x >> {secret}",
    "delete-outside": "rm -f {secret}",
    "rename-outside": "mv {secret} {out}/other",
    "read-outside": "cat {secret}",
    "climb": "cat ../outside/secret.txt",
    "link-and-read": "ln -s {out} way; cat way/secret.txt",
    "link-and-write": "ln -s {out} way; echo x > way/planted",
    "hard-link": "ln {secret} copy; cat copy",
    "root-of-a-process": "cat /proc/{pid}/root{secret}",
    "root-of-every-process": "for p in /proc/[0-9]*; do cat $p/root{secret}; done",
    "set-user-id": "cp /bin/true t; chmod 4755 t",
    "set-user-id-when-made": _python("import os; os.umask(0); os.open('t', os.O_CREAT | os.O_WRONLY, 0o4755)"),
    # what a parent has
    "environment": "env",
    "own-environment": "cat /proc/self/environ",
    "environment-of-another": "cat /proc/{sleeper}/environ",
    "inherited-handles": "cat /proc/self/fd/{handle}",
    "memory-of-another": _python("open('/proc/{sleeper}/mem', 'rb'); print('{canary}')"),
    "signal": "kill -TERM {sleeper}",
    # sockets
    "tcp": _connect("socket.AF_INET", "('127.0.0.1', {port})"),
    "tcp-of-bash": "bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'",
    "udp": _python("import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', {port}))"),
    "abstract-socket": _connect("socket.AF_UNIX", r"b'\\0{abstract}'"),
    "socket-outside": f"cd {{out}} && {_connect('socket.AF_UNIX', repr('s.sock'))}",
    "socket-in-the-granted-directory": _connect("socket.AF_UNIX", "'s.sock'"),
    "socket-through-a-link": f"ln -s s.sock t.sock; {_connect('socket.AF_UNIX', repr('t.sock'))}",
    # memory
    "shared-memory": "echo x > /dev/shm/{canary}",
    "shared-segment": _python(
        f"{_LIBC}; i = c.shmget({{key}}, 0, 0); c.shmat.restype = ctypes.c_void_p;"
        " i < 0 or print(ctypes.string_at(c.shmat(i, None, 0o10000)).decode())"
    ),
    "message-queue": _python(
        f"{_LIBC}; b = ctypes.create_string_buffer(100); c.msgrcv(c.msgget({{key}}, 0), b, 90, 0, 0o4000);"
        " print(b.raw[8:].decode())"
    ),
    # Callgate's own files
    "read-configuration": "cat callgate.yaml",
    "write-configuration": "echo 'autonomy: A4' > callgate.yaml",
    "replace-configuration": "echo x > new; mv -f new callgate.yaml",
    "rename-configuration": "mv callgate.yaml old.yaml",
    "delete-configuration": "rm -f callgate.yaml",
    "read-secrets": "cat conf/secrets.sealed",
    "read-second-name": "cat second",
    "write-second-name": "echo x >> second",
    "link-to-secrets": "ln conf/secrets.sealed third; cat third",
    "rename-above-secrets": "mv conf conf2; mkdir conf; echo x > conf/secrets.sealed",
    "plant-a-plugin": "mkdir -p plugins/evil; echo x > plugins/evil/plugin.py",
    "plant-a-plugin-by-link": "mkdir evil; ln -s evil plugins",
    "plant-a-plugin-by-renaming": "mkdir -p evil/inner; mv -T evil plugins",
    # .git
    "write-hook": "echo x > .git/hooks/pre-commit",
    "git-config": "git config core.fsmonitor ./evil",
    "rename-git": "mv .git git2; mkdir .git",
    "delete-git": "rm -rf .git",
    "write-hook-below": "cd sub; echo x > .git/hooks/pre-commit",
    "rename-above-git": "mv sub moved; mkdir -p sub/.git; echo x > sub/.git/config",
    "new-git": "mkdir -p new/.git/hooks; echo x > new/.git/hooks/pre-commit",
    "new-git-file": "mkdir -p new; echo 'gitdir: ../evil' > new/.git",
    "new-git-link": "mkdir -p new evil; ln -s ../evil new/.git",
    "clone": "git clone -q . new",
}
"""Each of them works where there is no sandbox, for anybody."""

WAYS_OF_ROOT: dict[str, str] = {
    "home-of-root": "ls /root && echo {canary}",
    "passwords": "test -s /etc/shadow && echo {canary}",
    "directory-by-mount": "mkdir m; mount --bind {out} m; cat m/secret.txt; umount m",
    "mount": "mkdir m; mount -t tmpfs none m && echo {canary}; umount m",
    "device-node": "mknod d c 1 3 && echo {canary}",
    "attach-to-a-process": _python(f"{_LIBC}; c.ptrace(16, {{sleeper}}, 0, 0) == 0 and print('{{canary}}')"),
    "other-users": "chown 1 callgate.yaml new 2>/dev/null; touch n; chown 1 n && echo {canary}",
}
"""Each of them works where there is no sandbox, for root."""

WAYS_THAT_HARM: dict[str, str] = {
    "signal-to-all": "kill -9 -1",
    "new-user-namespace": "unshare -Ur true && echo {canary}",
    "new-mount-namespace": "unshare -m true && echo {canary}",
    "namespace-of-another": "nsenter -t 1 -m cat {secret}",
    "var": "ls -d /var /run /srv /home /opt /mnt /media /boot 2>/dev/null && echo {canary}",
    "control-groups": "ls /sys/fs/cgroup && echo {canary}",
    "kernel-settings": 'f=/proc/sys/kernel/core_pattern; v=$(cat $f); echo "$v" > $f && echo {canary}',
    "every-kernel-setting": (
        "find /proc -writable -type f -not -path '/proc/[0-9]*' 2>&1 | grep -v find: && echo {canary}"
    ),
    "kernel-keys": "test -w /proc/sysrq-trigger && echo {canary}",
    "raw-socket": _python("import socket; socket.socket(17, 3); print('{canary}')"),
    "socket-to-the-host": _python("import socket; socket.socket(40, 1); print('{canary}')"),
    "crypto-socket": _python("import socket; socket.socket(38, 5); print('{canary}')"),
    "keyring": _python(f"{_LIBC}; c.syscall({_ADD_KEY}, b'user', b'x', b'y', 1, -3) >= 0 and print('{{canary}}')"),
    "terminal": _python("import os; os.open('/dev/tty', os.O_RDWR); print('{canary}')"),
    "typing": _python("import fcntl, os; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b'x'); print('{canary}')"),
    "disk": "ls /dev/[sv]d[a-z] /dev/nvme* /dev/mem /dev/kmsg 2>/dev/null && echo {canary}",
    "write-the-system": "echo x > /usr/callgate-test && echo {canary}; echo x > /etc/callgate-test && echo {canary}",
    "write-the-root": "echo x > /callgate-test && echo {canary}",
    "host-name": "hostname $(hostname) && test $(readlink /proc/self/ns/uts) = {uts} && echo {canary}",
    "chroot": "chroot /usr true && echo {canary}",
    "more-rights": "grep -q 'CapBnd:.*[1-9a-f]' /proc/self/status && echo {canary}",
    "more-limits": "ulimit -n 100000 && echo {canary}",
    "process-numbers": "test $$ -gt 50 && echo {canary}",
}
"""Tried only inside: outside, they would do harm, or depend on what the machine allows."""
