"""The kernel of the notebooks: IPython without any settings of the user or the site.

``python -P kernel.py FOLDERS -f FILE``, as
:func:`kerhrm_paper.reporting.notebooks.render` starts it: FOLDERS are those that the
starting process imports from.  A file, not a module, as the packages that its package
asks for may be in these folders alone.
"""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # behind the installed packages, so that nothing hides one of these
    imports = sys.argv.pop(1)
    folders = imports.split(os.pathsep)
    sys.path += [folder for folder in folders if folder not in sys.path]

from ipykernel.kernelapp import IPKernelApp


class PlainKernel(IPKernelApp):
    """A kernel that reads no configuration and runs no start-up file."""

    def load_config_file(self, *_: Any, **__: Any) -> None:
        """Read neither ``ipython_config.py`` nor ``ipython_kernel_config.py``."""

    def init_code(self) -> None:
        """Run no start-up file."""


def import_matplotlib() -> None:
    """Import matplotlib away from the working folder, whose ``matplotlibrc`` it reads.

    What it warns of, such as a font cache that it builds, is in no cell's output.
    """
    with contextlib.chdir(Path(__file__).parent):
        import matplotlib.font_manager
        import matplotlib.style  # noqa: F401


if __name__ == "__main__":
    import_matplotlib()
    PlainKernel.launch_instance(ignore_cwd=True)
