"""What a command prints."""

from __future__ import annotations

import pytest

from ascend_fuse.cli.main import app_main


def shown(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    """What is printed; nothing is said on standard error."""
    assert app_main([str(a) for a in args]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out
