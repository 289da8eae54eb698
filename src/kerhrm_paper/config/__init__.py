"""The configuration: files of ``config/``, and what they say of every cell."""

# ruff: noqa: E402  # what is needed is checked before it is imported

from kerhrm.extras import needs

needs("workflow", "yaml")

from kerhrm_paper.config.config import CHECKOUT as CHECKOUT
from kerhrm_paper.config.config import Config as Config
from kerhrm_paper.config.config import load_config as load_config
from kerhrm_paper.config.views import TableView as TableView
