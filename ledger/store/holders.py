"""Who holds a lease: this process, in a form in which another one on the same machine can tell whether it
still lives."""

import json
import os
import socket


def holder_name() -> str:
    """This process for people: machine and process id."""
    return f"{socket.gethostname()} (process {os.getpid()})"[:200]


def this_process() -> str:
    """This process for machines; empty where the system does not tell enough."""
    return _identity(os.getpid())


def is_dead(process: str) -> bool:
    """Whether a holder certainly does not live any more: it ran on this machine, and nothing runs there as it
    did.

    False for what cannot be told from here: then its deadline decides.
    """
    if not process or not (told := _read(process)) or not (own := _read(this_process())):
        return False
    if (told["boot"], told["namespace"]) != (own["boot"], own["namespace"]):
        return False  # another machine, another container, or before a restart
    return _identity(int(told["pid"])) != process


def _identity(pid: int) -> str:
    """Boot, process namespace, process id and start time: no two processes ever share them. Linux only."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        namespace = os.readlink("/proc/self/ns/pid")
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name may hold blanks and brackets; the state comes right after it, the start time as the 20th.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    if fields[0] in (b"Z", b"X"):  # dead, and only not yet waited for
        return ""
    return json.dumps({"boot": boot, "namespace": namespace, "pid": pid, "started": int(fields[19])})


def _read(process: str) -> dict[str, str]:
    try:
        told = json.loads(process)
    except ValueError:
        return {}
    wanted = {"boot", "namespace", "pid", "started"}
    return told if isinstance(told, dict) and wanted <= told.keys() else {}
