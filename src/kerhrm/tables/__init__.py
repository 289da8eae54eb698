"""Reading what users give: files, tables, columns, targets, labels and weights.

What can be read has one meaning, and all else is refused in one line.  A file passes
through :mod:`.text`, :mod:`.layout`, :mod:`.cells` and :mod:`.dates`, which
:mod:`.csv` puts together; an estimator's rows pass through :mod:`.arrays`,
:mod:`.data` and :mod:`.distinct`.
"""
