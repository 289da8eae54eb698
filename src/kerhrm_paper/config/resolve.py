"""What do the files of ``config/`` say of every cell?

They are read, merged, validated, and resolved to tables or searches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm_paper.config import strict_yaml
from kerhrm_paper.config.causes import cause
from kerhrm_paper.config.declared import check_declared_names
from kerhrm_paper.config.files import Sources, read_sources
from kerhrm_paper.config.groups import groups_of_search, groups_of_tables
from kerhrm_paper.config.invalid import invalid
from kerhrm_paper.config.labels import check_labels
from kerhrm_paper.config.layers import check_layers
from kerhrm_paper.config.mark import mark
from kerhrm_paper.config.names import check_cells, check_names
from kerhrm_paper.config.nulls import check_nulls
from kerhrm_paper.config.published import check_published
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.rows import check_alternatives, check_rows, check_titles
from kerhrm_paper.config.schema import Whole
from kerhrm_paper.config.searches import Search, all_searches
from kerhrm_paper.config.tables import Tables
from kerhrm_paper.config.views import Group, TableView
from kerhrm_paper.data.registry import DATA_SETS


@dataclass(frozen=True)
class Resolved:
    """The validated files, and every cell of their tables or searches."""

    sources: Sources
    whole: Whole
    resolver: Resolver
    tables: dict[str, TableView] = field(default_factory=dict)
    searches: dict[str, Search] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    @property
    def mark(self) -> str:
        """How the run differs from the published options; empty if it does not."""
        return mark(
            preset=self.whole.preset,
            changes=self.sources.changes,
            shipped=self.resolver.layers.files,
        )


def resolve(overrides: Mapping[str, Any], files: list[Path], folder: Path) -> Resolved:
    """Read, merge and validate the files of a folder, further files, and keys of the
    command line.

    Raises KerhrmError, in one line with the file, the key and its value.
    """
    for registry in (METHODS, PENALTIES, DATA_SETS):
        registry.load()  # a package that is broken is reported now, not in a job
    check_declared_names()
    sources = read_sources(overrides, files, folder)
    layers = list(sources.layers)
    unchanged = Sources(layers, preset_at=sources.preset_at)
    try:
        return resolve_sources(sources, folder)
    except KerhrmError as error:
        shown = map(strict_yaml.shown_path, files)
        of_user = [*shown, "--config"]

        def resolve_again(others: Sources) -> Resolved:
            return resolve_sources(others, folder)

        raise cause(error, unchanged, of_user, resolve_again) from error


def resolve_sources(sources: Sources, folder: Path) -> Resolved:
    """The cells of files that are read already; KerhrmError if they are wrong."""
    try:
        whole = Whole.model_validate(sources.tree())
    except ValidationError as error:
        raise invalid(sources, (), error) from error
    check_layers(sources)
    check_nulls(sources)
    check_names(sources, whole, folder.parent)
    resolver = Resolver(sources, whole)
    check_labels(resolver)
    check_titles(sources, whole)
    check_published(sources, whole)
    check_alternatives(sources, whole)
    tables = Tables(resolver)
    if whole.search:
        return _resolved_search(resolver, tables)
    return _resolved_tables(resolver, tables)


def _resolved_search(resolver: Resolver, tables: Tables) -> Resolved:
    """All candidates, and no tables."""
    searches = all_searches(resolver, tables)
    groups = []
    for search in searches.values():
        groups += groups_of_search(search.cells)
    return Resolved(
        sources=resolver.sources,
        whole=resolver.whole,
        resolver=resolver,
        searches=searches,
        groups=groups,
    )


def _resolved_tables(resolver: Resolver, tables: Tables) -> Resolved:
    """The cells of all tables."""
    views = tables.views()
    check_cells(resolver.sources, views)
    check_rows(views, resolver)
    groups = groups_of_tables(views, resolver)
    return Resolved(
        sources=resolver.sources,
        whole=resolver.whole,
        resolver=resolver,
        tables=views,
        groups=groups,
    )
