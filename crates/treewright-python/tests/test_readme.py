"""The Python code in the two READMEs runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("readme", ["README.md", "crates/treewright-python/README.md"])
def test_examples_run(readme, capsys):
    pytest.importorskip("nltk")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks, "there is no Python code"
    for block in blocks:
        exec(compile(block, readme, "exec"), {})
    assert "boy" in capsys.readouterr().out
