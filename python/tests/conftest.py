"""Fixtures."""

from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import apf_core


@pytest.fixture
def alice() -> apf_core.Request:
    return apf_core.Request(verb="list", resource="pods", namespace="dev", user="alice")
