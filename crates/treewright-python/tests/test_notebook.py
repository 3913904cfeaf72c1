"""The notebook in the documentation runs, and shows what it says it shows.

A notebook is JSON, so this needs no Jupyter: the cells are run one after the other, as IPython would. With UPDATE_GOLDEN=1
what they show is written into the notebook.
"""

import ast
import contextlib
import io
import json
import os
from pathlib import Path

NOTEBOOK = Path(__file__).resolve().parents[3] / "docs/python.ipynb"


def outputs(source: str, scope: dict, number: int) -> list[dict]:
    """What a cell prints, and what its last line is if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, NOTEBOOK.name, "exec"), scope)
        value = None if last is None else eval(compile(ast.Expression(last), NOTEBOOK.name, "eval"), scope)
    shown = []
    if printed.getvalue():
        shown.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_svg_"):
            data["image/svg+xml"] = lines(value._repr_svg_())
        shown.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return shown


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def test_the_notebook_shows_what_it_shows():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    scope = {}
    n_drawings = 0
    for number, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), 1):
        shown = outputs("".join(cell["source"]), scope, number)
        n_drawings += sum("image/svg+xml" in output.get("data", {}) for output in shown)
        if os.environ.get("UPDATE_GOLDEN"):
            cell["outputs"], cell["execution_count"] = shown, number
        assert cell["outputs"] == shown, "".join(cell["source"])
    assert n_drawings >= 3
    if os.environ.get("UPDATE_GOLDEN"):
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
