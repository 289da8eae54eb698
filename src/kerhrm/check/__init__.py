"""From a CSV file to a report.

The estimators on a table as it comes (``kerhrm check``).
"""

from kerhrm.check.columns import check_column as check_column
from kerhrm.check.fitting import Checked as Checked
from kerhrm.check.fitting import check as check
from kerhrm.tables.csv import read_names as read_names
from kerhrm.tables.csv import read_table as read_table
from kerhrm.tables.oddities import oddities as oddities
