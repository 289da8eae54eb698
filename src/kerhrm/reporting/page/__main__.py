"""Write the page of a folder: ``python -m kerhrm.reporting.page [FOLDER]``."""

import sys
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm.reporting.crate import FILE, write_crate
from kerhrm.reporting.page.build import write
from kerhrm.reporting.results_page import REFERENCE

if __name__ == "__main__":
    folder = Path(*(sys.argv[1:2] or [str(REFERENCE)]))
    try:
        path = write(folder, Path())
        if (folder / FILE).exists():  # it has the page's hash
            write_crate(folder, Path())
    except KerhrmError as error:
        sys.exit(f"error: {error}")
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB; open it in a browser")
