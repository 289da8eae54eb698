"""Which code, interpreter and machine a file comes from."""

import platform
import subprocess
from pathlib import Path

#: the checkout that this package lies in
CHECKOUT = Path(__file__).resolve().parents[3]
#: folders of the checkout whose files decide what a run makes
CODE = ("src", "config", "workflow", "notebooks")


def origin(root: Path = CHECKOUT) -> dict[str, str | None]:
    """Commit (which locks the packages), interpreter and machine of this process.

    Parameters
    ----------
    root : path
        The checkout.

    Returns
    -------
    dict
        ``commit`` as :func:`commit` has it, ``python`` and ``platform``.
    """
    return {
        "commit": commit(root),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def commit(root: Path) -> str | None:
    """Hash of the checkout's commit, "+" behind it if code has changed since.

    None without git.
    """
    git = ["git", "-C", str(root)]
    find = [*git, "rev-parse", "HEAD"]
    compare = [*git, "diff", "--quiet", "HEAD", "--", *CODE]
    try:
        head = subprocess.run(find, capture_output=True, text=True, check=True)
        compared = subprocess.run(compare)
        has_changed = compared.returncode != 0
    except (OSError, subprocess.CalledProcessError):
        return None
    digits = head.stdout.strip()
    return f"{digits}+" if has_changed else digits
