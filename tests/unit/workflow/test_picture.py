"""The README's picture of the DAG follows from the rules."""

from kerhrm.workflow.picture import to_mermaid

GRAPH = """---
title: DAG
---
flowchart TB
\tid0[all]
\tid1[score]
\tid2[cluster]
\tstyle id0 fill:#D95757
\tid2 --> id1
\tid1 --> id0
"""


def test_edges_are_named_sorted_and_without_targets() -> None:
    assert to_mermaid(GRAPH) == "```mermaid\nflowchart TB\n    cluster --> score\n```"
