"""Settings and their folders."""

import pytest

from kerhrm.config.names import folder_of, setting_in


@pytest.mark.parametrize("setting", ["cmnist", "r2=0.80,K=3", "r2=0.80,K=3,H=I"])
def test_a_settings_folder_has_no_comma(setting: str) -> None:
    assert "," not in folder_of(setting)
    assert setting_in(folder_of(setting)) == setting
