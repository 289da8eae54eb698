"""What do the files of ``config/`` say of every cell, ``DATA+option=value/LEARNER``?

- Text: ``strict_yaml`` and ``files`` read and merge, ``schema`` and ``fields`` say what
  is valid, ``invalid`` and ``causes`` word errors in one line.
- Names: ``values`` spells values, ``spelling`` names; ``nameable`` are options that a
  name can give, and ``schemas`` has those of each name.
- Cells: ``layers`` gives options, ``options`` lets the last place win; ``data_cells``,
  ``seeds``, ``grids``, ``selection`` and ``learner_cells`` (``learner_checks``) resolve
  them for ``resolver``, which answers all questions about names; records are in
  ``cells``.
- Tables: ``tables``, ``labels``, ``alternatives``, ``choices``; ``searches`` of
  candidates; ``groups`` of one job; records are in ``views``.
- Refused are names (``names``, ``layout``, ``declared``), rows (``rows``,
  ``references``), nulls (``nulls``) and content (``content``).
- A run: ``resolve``, ``config``, its ``mark``, its note (``written``), ``run_folder``.
- Commands: ``command_line``, ``command_checks`` (``command_names``), ``targets``,
  ``own_table``.
- Files of their own, no part of a cell: ``endpoints`` and ``real_tables``.

``alpha`` in a name passes ``schemas`` (read), ``learner_cells`` (the places that give
it) and ``options`` (the last one wins) on its way to the method's class of options.
"""

import lazy_loader

from kerhrm.extras import needs

needs("workflow", "yaml")

# at their first use: what a job imports of this package decides when it runs again
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "config": ["CHECKOUT", "Config", "load_config"],
        "views": ["TableView"],
    },
)
