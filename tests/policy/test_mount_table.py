"""The table of mounts: which paths lead to the same place, and where processes are shown."""

from __future__ import annotations

import os

import pytest

from callgate.policy.mount_table import MountTable, read

DISK = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw"
PROC = "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw"


def table(*lines: str, top: str = "27") -> MountTable:
    return MountTable(read("\n".join(lines).encode()), top=top)


def test_of_a_machine_where_nothing_is_mounted_twice_nothing_has_another_name():
    """As in a container: single files from the machine around it, and masks over parts of /proc."""
    mounts = table(
        "27 1 0:50 / / rw - overlay overlay rw,lowerdir=/a:/b",
        PROC,
        "30 22 0:21 /sys /proc/sys ro - proc proc rw",
        "31 27 254:0 /var/lib/containers/1/hosts /etc/hosts rw - ext4 /dev/vda rw",
        "32 27 254:0 /var/lib/containers/1/resolv.conf /etc/resolv.conf rw - ext4 /dev/vda rw",
        "33 27 254:0 /home/ann/project /ground rw - ext4 /dev/vda rw",
    )
    assert mounts.lasts
    assert mounts.points == ()
    assert mounts.names("/ground/a") == mounts.everywhere(["/ground", "/etc"]) == mounts.called("/ground/a") == ()


def test_no_table_says_nothing():
    mounts = table(top="")
    assert mounts.lasts
    assert (mounts.names("/a"), mounts.everywhere(["/a"]), mounts.called("/a")) == ((), (), ())
    assert (mounts.of_processes, mounts.process_points) == (frozenset(), ())


def test_what_a_mount_shows_has_its_names_there_and_where_it_comes_from():
    mounts = table(DISK, "40 27 254:0 /home/ann /ground/home rw - ext4 /dev/vda rw")
    assert not mounts.lasts
    assert mounts.names("/ground/home/key") == ("/home/ann/key",)
    assert mounts.names("/home/ann/key") == ("/ground/home/key",)
    assert mounts.names("/ground/home") == ("/home/ann",)
    assert mounts.names("/home/bob") == mounts.names("/home/ann2") == ()
    assert mounts.names("/ground") == ()
    assert mounts.everywhere(["/home/ann/.callgate", "/home/ann/absent"]) == (
        "/ground/home/.callgate",
        "/ground/home/absent",
    )


def test_what_lies_in_a_place_counts_as_well_and_what_is_mounted_in_it():
    mounts = table(
        DISK,
        "40 27 254:0 /home/ann/.callgate/plugins /ground/plugins rw - ext4 /dev/vda rw",
        "41 27 0:60 / /home/ann/.callgate/keys rw - tmpfs tmpfs rw",
        "42 27 0:60 / /ground/keys rw - tmpfs tmpfs rw",
        "43 27 0:61 / /home/ann/.callgate/alone rw - tmpfs tmpfs rw",
    )
    assert set(mounts.everywhere(["/home/ann/.callgate"])) >= {"/ground/plugins", "/ground/keys"}
    assert mounts.names("/ground/keys/root") == ("/home/ann/.callgate/keys/root",)
    assert mounts.names("/home/ann/.callgate/alone/x") == ()


def test_single_files_and_names_with_blanks_are_found():
    mounts = table(DISK, r"40 27 254:0 /home/a\040b/callgate.yaml /ground/c\134d\011e rw - ext4 /dev/vda rw")
    assert mounts.everywhere(["/home/a b/callgate.yaml"]) == ("/ground/c\\d\te",)


def test_names_that_are_no_text_are_kept_as_the_system_has_them():
    raw = b"27 1 254:0 / / rw - ext4 /dev/vda rw\n40 27 254:0 /a\xff /b rw - ext4 /dev/vda rw"
    assert MountTable(read(raw), top="27").names("/b") == (os.fsdecode(b"/a\xff"),)


def test_what_was_replaced_since_it_was_mounted_counts_by_its_path():
    mounts = table(DISK, "40 27 254:0 /home/callgate.yaml//deleted /ground/old.yaml rw - ext4 /dev/vda rw")
    assert mounts.everywhere(["/home/callgate.yaml"]) == ("/ground/old.yaml",)


def test_subvolumes_are_told_apart_by_what_they_are_called_in_their_file_system():
    mounts = table(
        "27 1 0:30 /@ / rw - btrfs /dev/vda rw,subvol=/@",
        "28 27 0:30 /@home /home rw - btrfs /dev/vda rw,subvol=/@home",
        "29 27 0:30 / /mnt/all rw - btrfs /dev/vda rw,subvol=/",
        "30 27 0:30 /@home/ann /ground/home rw - btrfs /dev/vda rw,subvol=/@home",
    )
    assert set(mounts.names("/home/ann/key")) == {"/mnt/all/@home/ann/key", "/ground/home/key"}
    assert mounts.names("/etc/x") == ("/mnt/all/@/etc/x",)


def test_what_is_mounted_over_is_not_seen():
    mounts = table(
        DISK,
        "40 27 254:0 /home /ground rw - ext4 /dev/vda rw",
        "41 40 0:60 / /ground rw - tmpfs tmpfs rw",
        "42 27 254:0 /home /mnt/a rw - ext4 /dev/vda rw",
        "43 27 0:61 / /mnt rw - tmpfs tmpfs rw",
    )
    assert mounts.names("/home/x") == ()
    assert mounts.names("/ground/x") == ()
    assert mounts.everywhere(["/home"]) == ()


def test_what_is_mounted_where_it_lies_anyway_has_no_other_name():
    mounts = table(DISK, "40 27 254:0 /srv/app /srv/app ro - ext4 /dev/vda rw")
    assert mounts.lasts
    assert mounts.names("/srv/app/x") == ()


def test_a_point_may_have_what_ends_lines_elsewhere_in_its_name():
    mounts = table(
        DISK, "40 27 254:0 /home /a\rb\x0b\x0c rw - ext4 /dev/vda rw", "41 27 254:0 /srv /c rw - ext4 /dev/vda rw"
    )
    assert mounts.names("/home/x") == ("/a\rb\x0b\x0c/x",)


def test_nothing_is_mounted_over_the_top_of_what_a_process_sees():
    mounts = table("1 0 0:2 / / rw - rootfs rootfs rw", DISK, "40 27 254:0 /home /ground rw - ext4 /dev/vda rw")
    assert mounts.names("/ground/x") == ("/home/x",)


def test_a_top_that_the_table_does_not_have_is_no_name_and_in_nobodys_way():
    """Somebody changed the root of the process to a directory."""
    mounts = table("40 27 254:0 /home /ground rw - ext4 /dev/vda rw", "41 27 254:0 /home /again rw - ext4 /dev/vda rw")
    assert mounts.names("/ground/x") == ("/again/x",)
    assert mounts.names("/x") == mounts.everywhere(["/x"]) == mounts.called("/x") == ()


@pytest.mark.parametrize("name", [".git", ".callgate", "callgate.yaml"])
def test_what_a_mount_is_called_in_its_file_system_is_told_where_that_says_something(name: str):
    mounts = table(
        "27 1 0:50 / / rw - overlay overlay rw", f"40 27 254:0 /srv/{name}/in /ground/x rw - ext4 /dev/vda rw"
    )
    assert not mounts.lasts
    assert mounts.called("/ground/x/y") == ("srv", name, "in")
    assert mounts.called("/ground") == ()
    assert mounts.points == ("/ground/x",)
    assert mounts.holders == {"/ground"}


@pytest.mark.parametrize("kind", ["proc", "debugfs", "tracefs"])
def test_each_file_system_that_shows_processes_is_known_by_its_device(kind: str):
    mounts = table(DISK, PROC, f"40 27 0:77 / /ground/p rw - {kind} {kind} rw")
    assert mounts.of_processes == {os.makedev(0, 21), os.makedev(0, 77)}
    assert mounts.process_points == ("/proc", "/ground/p")
    assert not mounts.lasts


def test_file_systems_of_names_alone_are_no_places():
    mounts = table(
        DISK,
        "40 27 0:4 net:[4026531840] /run/a rw - nsfs nsfs rw",
        "41 27 0:4 net:[4026531840] /run/b rw - nsfs nsfs rw",
    )
    assert mounts.names("/run/a") == ("/run/b",)
