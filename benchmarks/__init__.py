"""How fast it is: stages, growth, peers, memory and start-up, all measured in one run.

``make bench`` runs the cases (``bench_*.py``, by pytest-benchmark), which write
``results/bench/*.csv`` row by row, then compares them with the limits
(:mod:`benchmarks.limits`) and writes ``docs/speed.md`` (:mod:`benchmarks.page`).  A case that
fails, or lacks memory or a package, is a row ``not run: reason``.

pytest-benchmark and not asv: cases are ordinary tests with fixtures and parameters, they run in
the environment at hand, and what is asked for are ratios inside one run; asv builds an
environment for every commit and compares commits.
"""
