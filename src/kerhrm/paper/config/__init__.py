"""The configuration: files of ``config/`` resolved to the parameters of every job."""

# ruff: noqa: E402  # what is needed is checked before it is imported

from kerhrm.extras import needs

needs("workflow", "yaml")

from kerhrm.paper.config.config import CHECKOUT as CHECKOUT
from kerhrm.paper.config.config import Config as Config
from kerhrm.paper.config.config import Table as Table
from kerhrm.paper.config.config import load_config as load_config
