"""What do the files of ``config/`` say of every cell?

A cell is ``DATA+option=value/LEARNER+option=value``.  The room, in the order of its
floors:

- text: ``strict_yaml``, ``files`` (which file gives a key), ``schema`` and ``fields``
  (its types), ``invalid`` and ``causes`` (errors of one line);
- names: ``nameable`` (values), ``spelling`` (options), ``schemas`` (which there are);
- cells: ``layers``, ``options`` (the last place wins), ``data_cells``, ``grids``,
  ``selection``, ``learner_cells``, ``learner_checks``; their records are in ``cells``;
- ``resolver`` answers all questions about names, with these parts;
- tables: ``tables``, ``labels``, ``alternatives``, ``choices``, ``searches`` and their
  jobs, ``groups``; their records are in ``views``;
- refused: what ``checks``, ``names`` (in case), ``rows`` (of two cells) say;
- the whole: ``resolve``, ``mark``, ``written`` (a run's note), ``config``;
- commands: ``command_line``, ``targets``, ``own_table``, ``run_folder``, ``layout``.

``alpha`` goes from a name (``schemas``) to the places that give it (``learner_cells``),
to the last of them (``options``), and into the method's class of options.
"""

# ruff: noqa: E402  # what is needed is checked before it is imported

from kerhrm.extras import needs

needs("workflow", "yaml")

from kerhrm_paper.config.config import CHECKOUT as CHECKOUT
from kerhrm_paper.config.config import Config as Config
from kerhrm_paper.config.config import load_config as load_config
from kerhrm_paper.config.views import TableView as TableView
