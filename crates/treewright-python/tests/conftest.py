from pathlib import Path

import pytest
import treewright

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def nlp():
    return treewright.load()


@pytest.fixture(scope="session")
def constituents():
    return treewright.load(kind="constituents")


@pytest.fixture(scope="session")
def data():
    """The samples of treebanks in the repository."""
    return ROOT / "data"
