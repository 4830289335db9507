"""Take away from the standard library what Linux has and macOS has not: `import like_macos` in a .pth file of a venv.

It is no Mac: paths, /proc, signals and the file system stay Linux's. What calls a missing function is found.
"""

from __future__ import annotations

import importlib
import sys

# Source: the availability notes of the modules' documentation; the second group came to macOS with Python 3.13.
GONE = {
    "posix": (
        "copy_file_range",
        "eventfd",
        "eventfd_read",
        "eventfd_write",
        "fdatasync",
        "getrandom",
        "getresgid",
        "getresuid",
        "getxattr",
        "listxattr",
        "memfd_create",
        "O_DIRECT",
        "O_NOATIME",
        "O_PATH",
        "O_TMPFILE",
        "P_PIDFD",
        "pidfd_open",
        "pipe2",
        "posix_fadvise",
        "posix_fallocate",
        "removexattr",
        "sched_getaffinity",
        "sched_getparam",
        "sched_getscheduler",
        "sched_rr_get_interval",
        "sched_setaffinity",
        "sched_setscheduler",
        "setns",
        "setresgid",
        "setresuid",
        "setxattr",
        "splice",
        "unshare",
    ),
    "select": ("epoll",),
    "signal": (
        "SIGCLD",
        "SIGPOLL",
        "SIGPWR",
        "SIGRTMAX",
        "SIGRTMIN",
        "SIGSTKFLT",
        "pidfd_send_signal",
        "sigtimedwait",
        "sigwaitinfo",
    ),
}
GONE_BEFORE_3_13 = ("P_ALL", "P_PGID", "P_PID", "waitid", "waitid_result")


def take_away() -> None:
    """Delete them, in this process."""
    before = GONE_BEFORE_3_13 if sys.version_info < (3, 13) else ()
    for module, names in [*GONE.items(), ("posix", before), ("os", (*GONE["posix"], *before))]:
        for name in names:
            vars(importlib.import_module(module)).pop(name, None)


if __name__ == "like_macos":
    take_away()
