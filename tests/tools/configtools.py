"""What tests of the configuration share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).resolve().parents[2] / "config"

Told = Callable[[dict[str, Any]], str]  #: the message of a refused configuration
Spoil = Callable[[str], str]  #: what is told of a preset with this text
Write = Callable[[str, dict[str, Any]], None]  #: writes a file of the configuration
