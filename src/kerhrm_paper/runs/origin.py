"""Which code, interpreter, libraries and machine a file comes from."""

import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path

#: the checkout that this package lies in
CHECKOUT = Path(__file__).resolve().parents[3]
#: folders of the checkout whose files decide what a run makes
CODE = ("src", "config", "workflow", "notebooks")
#: packages whose versions decide the last digits
LIBRARIES = ("numpy", "torch")
#: name of a folder that a commit of a git server was unpacked into
COMMIT = re.compile(r"[0-9a-f]{40}")


def origin(root: Path = CHECKOUT) -> dict[str, str | None]:
    """Commit, interpreter, libraries and machine of this process.

    Parameters
    ----------
    root : path
        The checkout.

    Returns
    -------
    dict
        ``commit`` as :func:`commit` has it, ``python`` and ``platform``, and the
        version of each of ``LIBRARIES``.
    """
    versions = {name: _version(name) for name in LIBRARIES}
    return {
        "commit": commit(root),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **versions,
    }


def _version(package: str) -> str | None:
    """Version of an installed package, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def commit(root: Path) -> str | None:
    """Hash of the checkout's commit, "+" behind it if its code is another.

    Files that git does not know are code, too.  None without git, unless the folder is
    called after the commit.
    """
    if COMMIT.fullmatch(root.name):
        return root.name
    git = ["git", "-C", str(root), "--no-optional-locks"]
    find = [*git, "rev-parse", "HEAD"]
    # whatever the user's settings of status are
    compare = [*git, "status", "--porcelain", "--untracked-files=normal", "--", *CODE]
    try:
        head = subprocess.run(find, capture_output=True, text=True, check=True)
        status = subprocess.run(compare, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    digits = head.stdout.strip()
    has_changed = status.stdout != ""
    return f"{digits}+" if has_changed else digits
