"""A logger plugin of Snakemake's: what it says of jobs and their groups, as lines of
JSON.

Rules have a message, which takes the place of the files in what Snakemake prints.
"""

import json
import os
from logging import LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

#: names the file to write
VARIABLE = "JOBS_LOG"
FIELDS = ("rule_name", "input", "output", "log", "benchmark", "reason")


class LogHandler(LogHandlerBase):
    writes_to_stream = False
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def emit(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            line = {name: getattr(record, name) for name in FIELDS}
            line["grouped"] = record.indent
        elif event == LogEvent.GROUP_INFO:
            line = {"group": record.group_id}
        else:
            return
        with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, default=str) + "\n")
