"""Names that scripts outside the package take from ``kerhrm_paper.config``."""

import subprocess
import sys

import kerhrm_paper.config
from kerhrm_paper.config import CHECKOUT, Config, TableView, load_config


def test_the_package_gives_its_public_names() -> None:
    assert (CHECKOUT / "config/config.yaml").is_file()
    config = load_config({"preset": "smoke"})
    assert isinstance(config, Config)
    assert isinstance(config.tables["table1"], TableView)
    assert {"CHECKOUT", "Config", "TableView", "load_config"} <= set(
        dir(kerhrm_paper.config)
    )


def test_a_module_of_the_package_loads_no_other_for_them() -> None:
    code = "import sys, kerhrm_paper.config.fields\n"
    code += "print('kerhrm_paper.config.config' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
