"""Notebooks: executed to the same bytes in every run, and exported as safe HTML."""

import contextlib
import logging
import os
import re
import socket
import sys
import tempfile
from importlib.metadata import files as installed_files
from pathlib import Path
from typing import Any

import bleach
import nbformat
import papermill
from bleach.css_sanitizer import CSSSanitizer
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbconvert import HTMLExporter
from traitlets.config import Config

import kerhrm
from kerhrm.errors import KerhrmError
from kerhrm.files import write_text
from kerhrm_paper.reporting.page import framed
from kerhrm_paper.reporting.page import page as whole_page

KERNEL = Path(__file__).with_name("kernel.py")
#: places for the folder of a kernel's sockets; None: that of temporary files
SOCKETS = (None, "/tmp")
#: variables of the environment that a kernel gets
KEPT = re.compile(
    "PATH|HOME|USER|LOGNAME|SYSTEMROOT|XDG_CACHE_HOME|MPLCONFIGDIR|"
    "(LD|DYLD|CONDA|KERHRM|OMP|MKL|OPENBLAS|KMP|MALLOC|NVIDIA|SLURM)_.*|"
    ".*_NUM_THREADS|CUDA.*"
)
#: metadata that papermill and the kernel fill with times, paths and versions
VOLATILE = ("papermill", "execution", "widgets")
#: what a page may hold; everything else is shown as text
TAGS = {
    "a",
    "b",
    "br",
    "caption",
    "code",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "small",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
ATTRIBUTES = {"*": ["id", "style"], "a": ["href"], "th": ["colspan", "rowspan"]}


class _KernelManager(AsyncKernelManager):
    """Starts :mod:`kerhrm_paper.reporting.kernel`, whatever kernels are installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """This interpreter, which imports from where this process does."""
        folders = [Path(part).absolute() for part in sys.path]
        imports = os.pathsep.join(map(str, folders))
        options = ["-P", str(KERNEL), imports, "-f", "{connection_file}"]
        provisioner = {"provisioner_name": "local-provisioner"}
        return KernelSpec(
            argv=[sys.executable, *options],
            language="python",
            metadata={"kernel_provisioner": provisioner},
        )

    async def start_kernel(  # type: ignore[override]
        self, **options: Any
    ) -> None:
        folder = Path(self.connection_file).parent
        of_kernel = environment(folder)
        await self._async_start_kernel(env=of_kernel, **options)


def environment(folder: Path) -> dict[str, str]:
    """What a kernel gets of this process's environment.

    What computes stays the same: libraries, threads, devices.  The user's settings of
    Python, IPython, Jupyter, matplotlib, the terminal, language and time zone stay
    outside; files go to ``folder``.
    """
    kept = {}
    for name, value in os.environ.items():
        if KEPT.fullmatch(name):
            kept[name] = value
    package = Path(kerhrm.__file__).parents[1]
    is_installed = package.name in ("site-packages", "dist-packages")
    return kept | {
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
        "JUPYTER_DATA_DIR": str(folder / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(folder / "jupyter"),
        "LC_ALL": "C",
        "MATPLOTLIBRC": os.devnull,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # nobody debugs this kernel
        "PYTHONPATH": "" if is_installed else str(package),
        "PYTHONUTF8": "1",
        "PYTHONWARNINGS": "ignore:IProgress",  # tqdm's, if there are no widgets
        "TMPDIR": str(folder),
        "TZ": "UTC",
    }


def _sockets(folders: contextlib.ExitStack) -> dict[str, str]:
    """Where a kernel listens: files in a folder, else ports of this machine.

    Another kernel that starts at the same time may take a port, but no such file.  The
    path of a socket is at most 108 characters long, and not every file system has
    sockets.
    """
    for place in SOCKETS:
        with contextlib.suppress(OSError, AttributeError):
            temporary = tempfile.TemporaryDirectory(dir=place)
            folder = folders.enter_context(temporary)
            with socket.socket(socket.AF_UNIX) as probe:
                probe.bind(f"{folder}/k-0")
                return {"transport": "ipc", "ip": f"{folder}/k"}
    return {"transport": "tcp", "ip": "127.0.0.1"}


def render(
    source: str | Path, target: str | Path, page: str | Path = "", /, **parameters: Any
) -> None:
    """Run a notebook with this interpreter, and with no settings of the user.

    ``target`` appears once every cell has succeeded, and nothing in it varies.

    ``parameters`` are values of variables that the cell tagged ``parameters`` declares;
    ``page`` names a file for the executed notebook's HTML.

    Raises KerhrmError if a cell fails, or no kernel can run.
    """
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        with contextlib.ExitStack() as folders:
            temporary = tempfile.TemporaryDirectory()
            folder = Path(folders.enter_context(temporary))
            executed = folder / "executed.ipynb"
            connection = {
                "connection_file": str(folder / "connection.json"),
                **_sockets(folders),
            }
            papermill.execute_notebook(
                str(source),
                str(executed),
                parameters=parameters,
                kernel_name="python3",
                progress_bar=False,
                cwd=os.getcwd(),
                config=Config({"KernelManager": connection}),
                kernel_manager_class=_KernelManager,
                start_timeout=600,  # on a busy machine
                # a graceful end interrupts it, which it may print
                shutdown_kernel="immediate",
            )
            text = executed.read_text(encoding="utf-8")
    except papermill.PapermillExecutionError as error:
        words = error.evalue.split()
        message = " ".join(words)  # one line
        problem = f"{source}, cell {error.exec_count}: {error.ename}: {message}"
        raise KerhrmError(problem, None) from error
    except OSError as error:
        problem = f"cannot execute {source}: {error.strerror or error}"
        hint = "free disk space or let TMPDIR name another folder, then run again"
        raise KerhrmError(problem, hint) from error
    except RuntimeError as error:  # nbclient's, as of a kernel that was killed
        words = str(error).split()
        message = " ".join(words)
        problem = f"cannot execute {source}: {message}"
        hint = "give it more memory and time, then run again"
        raise KerhrmError(problem, hint) from error
    write_text(target, normalise(text))
    if page:
        title = Path(page).stem
        write_text(page, to_html(target, title))


def normalise(notebook: str) -> str:
    """The notebook's JSON without times, cell ids, paths and versions."""
    content = nbformat.reads(notebook, as_version=4)
    language_info = content.metadata.get("language_info", {})
    language = language_info.get("name", "python")
    content.metadata = {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": language},
    }
    for number, cell in enumerate(content.cells):
        cell.id = f"cell-{number}"
        for key in VOLATILE:
            cell.metadata.pop(key, None)
    return nbformat.writes(content, version=4) + "\n"


class _Exporter(HTMLExporter):
    """Takes the templates that come with nbconvert, and none of the user's."""

    def get_prefix_root_dirs(self) -> list[str]:
        """The folder ``share/jupyter`` into which nbconvert was installed."""
        folders = []
        for file in installed_files("nbconvert") or ():
            if file.match("nbconvert/templates/basic/conf.json"):
                template = Path(file.locate()).resolve()
                folders.append(str(template.parents[3]))
        return folders


def to_html(notebook: str | Path, title: str) -> str:
    """An executed notebook as a page without code that makes no request and runs no
    script.

    Cells' HTML and Markdown are sanitised, whatever a table's names hold.
    """
    exporter = _Exporter(
        template_name="basic",
        extra_template_basedirs=[],  # not the working folder
        sanitize_html=True,
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )
    exporter.register_filter("clean_html", _clean)  # nbconvert's own allows no tables
    content = nbformat.read(notebook, as_version=4)
    heading = title
    for cell in content.cells:
        if cell.cell_type == "markdown":
            heading = _heading(cell.source, heading)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            markdown = data.get("text/markdown", "")
            heading = _heading(markdown, heading)
            metadata = output.get("metadata", {})
            png = metadata.setdefault("image/png", {})
            png["alt"] = f"Figure: {heading}"
    body, _ = exporter.from_notebook_node(content)
    return whole_page(title, body)


def _heading(text: str, above: str) -> str:
    """The last heading of a Markdown text, the one above it if it has none."""
    headings = re.findall(r"^#+ (.+)", text, re.MULTILINE)
    return headings[-1] if headings else above


def _clean(markup: str) -> str:
    """HTML without scripts, requests and the style sheets of data frames."""
    markup = re.sub(r"<style.*?</style>", "", markup, flags=re.DOTALL)
    css = CSSSanitizer(allowed_css_properties=["background-color"])
    safe = bleach.clean(markup, TAGS, ATTRIBUTES, css_sanitizer=css)
    return framed(safe)
