"""Digests that are kept between runs."""

from pathlib import Path

import pytest

from kerhrm.jobs import fingerprint as fp
from kerhrm.jobs.digests import Digests

SCRIPT = Path("workflow/scripts/score.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new/digests.json"


def test_kept_digests_give_the_same_fingerprint_without_a_look_at_the_code(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Digests(path)
    expected = fp.fingerprint(SCRIPT, known=first)
    assert expected == fp.fingerprint(SCRIPT, known={})
    first.keep()

    monkeypatch.delattr(fp, "_Code")
    again = Digests(path)
    assert again == first
    assert fp.fingerprint(SCRIPT, known=again) == expected


def test_another_text_has_another_digest(tmp_path: Path, path: Path) -> None:
    script, found = tmp_path / "script.py", []
    for text in ("a = 1", "a = 2", "a = 1  # why", "a = 1"):
        script.write_text(text)
        fp._dependence.cache_clear()
        known = Digests(path)
        found.append(fp.fingerprint(script, known=known))
        known.keep()
    assert found[0] == found[2] == found[3] != found[1]
    assert len(Digests(path)) == 3


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": 1}', b"\xff"])
def test_a_damaged_file_is_as_none(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    digests = Digests(path)
    assert digests == {}
    digests["a"] = "b"
    digests.keep()
    assert Digests(path) == {"a": "b"}


def test_a_folder_that_is_none_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    digests = Digests(tmp_path / "file/digests.json")
    digests["a"] = "b"
    digests.keep()
    assert (tmp_path / "file").read_text() == ""


def test_nothing_new_is_not_written(path: Path) -> None:
    Digests(path).keep()
    assert not path.exists()
