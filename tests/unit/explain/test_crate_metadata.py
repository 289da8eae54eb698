"""The RO-Crate of a run and of what was published: every file, its hash, what made it."""

import hashlib
import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from rocrate.rocrate import ROCrate

from kerhrm.errors import KerhrmError
from kerhrm.reporting.crate import FILE, write_crate
from kerhrm.reporting.explain.lineage import JOBS, Records
from kerhrm.reporting.provenance import MADE_WITH


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection can be made."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def published(run: Path, tmp_path: Path) -> Path:
    """A run's table in ``reference``, another's in a folder of its own, and claims."""
    folder = tmp_path / "reference"
    facts = {
        "packages": {"kerhrm": "0.1", "torch": "2.0"},
        MADE_WITH: {"commit": "c0ffee", "code": "c" * 64, "locks": {"envs/torch.txt": "d" * 64}},
    }
    for own, config in ((folder, "config.yaml"), (folder / "claims", "config.yaml")):
        own.mkdir()
        shutil.copy(run / config, own / config)
        (own / "versions.json").write_text(json.dumps(facts))
    shutil.copytree(run / "tables", folder / "tables")
    (folder / "claims" / "claims.csv").write_text("claim\n1\n")
    records = Records.of_run(run)
    (folder / JOBS).write_text(records.as_text(records.jobs))
    return folder


def test_every_file_is_described_with_its_hash(published: Path, tmp_path: Path) -> None:
    n = write_crate(published, tmp_path)
    files = {p.relative_to(published).as_posix(): p for p in published.rglob("*") if p.is_file()}
    del files[FILE]
    found = {entity.id: entity for entity in ROCrate(published).data_entities}
    assert {*found} == {*files}
    assert len(found) == n
    for name, entity in found.items():
        content = files[name].read_bytes()
        assert entity["sha256"] == hashlib.sha256(content).hexdigest()
        assert entity["contentSize"] == str(len(content))
        assert entity["encodingFormat"] != "application/octet-stream"


def test_every_file_was_made_by_one_action(published: Path, tmp_path: Path) -> None:
    write_crate(published, tmp_path)
    crate = ROCrate(published)
    actions = crate.get_by_type("CreateAction")
    made = {file.id: action for action in actions for file in action["result"]}
    assert sum(len(action["result"]) for action in actions) == len(made)
    assert {*made} == {entity.id for entity in crate.data_entities}
    table = made["tables/table1.csv"]
    assert table["name"] == "Snakemake rule summarise"
    assert table["startTime"].startswith("2026-01-31T12:")
    assert table["description"] == "snakemake --cores 2 all"
    assert made["claims/claims.csv"]["description"] == "snakemake --cores 2 publish_claims"
    workflow = table["instrument"]
    assert workflow["version"] == "c0ffee"
    hashes = {one["name"]: one["value"] for one in workflow["identifier"]}
    config = hashlib.sha256((published / "config.yaml").read_bytes()).hexdigest()
    assert hashes["SHA-256 of configuration"] == config
    assert hashes["SHA-256 of envs/torch.txt"] == "d" * 64
    packages = {one["name"]: one["softwareVersion"] for one in workflow["softwareRequirements"]}
    assert packages == {"kerhrm": "0.1", "torch": "2.0"}


def test_licence_authors_and_date(published: Path, tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("MIT License\n\nCopyright (c) 2026 The authors of it\n")
    write_crate(published, tmp_path)
    root = ROCrate(published).root_dataset
    assert root["license"].id == "https://spdx.org/licenses/MIT"
    assert root["author"]["name"] == "The authors of it"
    assert root["datePublished"] == "2026-01-31"


def test_equal_folders_have_equal_metadata(published: Path, tmp_path: Path) -> None:
    write_crate(published, tmp_path)
    first = (published / FILE).read_text()
    write_crate(published, tmp_path)
    assert (published / FILE).read_text() == first


def test_a_run_is_described_without_its_data(run: Path, checkout: Path, tmp_path: Path) -> None:
    copy = tmp_path / "paper"
    shutil.copytree(run, copy)
    write_crate(copy, checkout)
    names = {entity.id for entity in ROCrate(copy).data_entities}
    assert {"config.yaml", "scores/classification.csv", "notebooks/table1.ipynb"} <= names
    assert not any(name.endswith(".npz") for name in names)


def test_a_folder_without_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match=r"has no config\.yaml; run the workflow first"):
        write_crate(tmp_path, tmp_path)
