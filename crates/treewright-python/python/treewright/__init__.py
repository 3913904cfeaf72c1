"""Shift-reduce syntactic parsing: text to dependency and constituent trees.

>>> import treewright
>>> nlp = treewright.load()
>>> doc = nlp("The boy saw a dog.")
>>> [(token.form, token.upos, token.head, token.deprel) for token in doc[0].tokens][:2]
[('The', 'DET', 2, 'det'), ('boy', 'NOUN', 3, 'nsubj')]

Models build dependencies or constituents; the English one in the package builds both::

    treewright.load(kind="constituents")
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, cast

from . import _native
from ._native import Document, Model, Sentence, Token, Tree, TreewrightError
from ._native import convert as _convert
from ._native import derive as _derive
from ._native import evaluate as _evaluate
from ._native import from_string, read
from ._native import oracle as _oracle
from ._native import train as _train

__all__ = [
    "Document",
    "Model",
    "Sentence",
    "Token",
    "Tree",
    "TreewrightError",
    "convert",
    "derive",
    "draw",
    "evaluate",
    "from_nltk",
    "from_pandas",
    "from_string",
    "load",
    "oracle",
    "parse_arrow",
    "read",
    "to_nltk",
    "to_pandas",
    "train",
]

#: The name of the model in the package.
EMBEDDED = "english"

StrPath: TypeAlias = "str | os.PathLike[str]"


def _folders() -> list[Path]:
    """Where models are looked for by name: the folders of $TREEWRIGHT_MODELS, `models` here, the user's own."""
    folders = [Path(folder) for folder in os.environ.get("TREEWRIGHT_MODELS", "").split(os.pathsep) if folder]
    data = os.environ.get("XDG_DATA_HOME")
    folders.append(Path("models"))
    folders.append((Path(data) if data else Path.home() / ".local/share") / "treewright/models")
    return folders


def _find(model: StrPath) -> str | None:
    """The file that a path or name stands for; None for the model in the package."""
    path = Path(model)
    if path.is_file():
        return str(path)
    for folder in _folders():
        for ending in (".model", ".model.gz"):
            file = folder / (str(model) + ending)
            if file.is_file():
                return str(file)
    if str(model) == EMBEDDED:
        return None
    looked = ", ".join(map(str, _folders()))
    raise FileNotFoundError(f"{model}: there is no such file, and no model of this name in {looked}")


def load(model: StrPath | None = None, *, kind: str | None = None) -> Model:
    """Opens a model, by path or by name; the English one in the package if none is named.

    `kind` is "dependencies" or "constituents" where a model builds both; the first of them otherwise. A file that is not
    compressed is mapped into memory, so that processes share it.
    """
    return _native.load(None if model is None else _find(model), kind)


def parse_arrow(
    batch: Any,
    text_column: str = "text",
    output: str = "parse",
    *,
    model: Model | None = None,
    format: str | None = None,
    jobs: int | None = None,
) -> Any:
    """Parses a column of texts of an Arrow record batch (whatever offers the PyCapsule interface).

    Returns a pyarrow batch with two more columns: `output`, the trees of each text in a treebank format (CoNLL-U for
    dependencies, brackets for constituents), and `output` + "_error", which says why a text has no parse. Texts that
    are null stay null.
    """
    return (model or _default()).parse_arrow(batch, text_column, output, format, jobs)


_models: dict[tuple[str | None, str | None], Model] = {}


def _default(model: str | None = None, kind: str | None = None) -> Model:
    """A model that is loaded once in this process."""
    key = (model, kind)
    if key not in _models:
        _models[key] = load(model, kind=kind)
    return _models[key]


def train(
    train: StrPath,
    dev: StrPath | None = None,
    *,
    output: StrPath | None = None,
    recipe: str | None = None,
    without: Iterable[str] = (),
    epochs: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
) -> Model:
    """Trains a model on a treebank and returns it; with `output` it is written, too.

    Settings that are not given are chosen for the treebank, as `treewright train` does. `without` names parts to leave out
    (segmenter, tagger, lemmatiser). `progress` is called with a dictionary now and then: stages, epochs, scores on the
    development set. What it raises ends the training, as Ctrl-C does.
    """
    model = _train(os.fspath(train), None if dev is None else os.fspath(dev), recipe, list(without), epochs, seed, jobs, progress)
    if output is not None:
        model.save(os.fspath(output))
    return model


def evaluate(
    gold: StrPath, predicted: StrPath, *, params: str | None = None, functions: str = "strip"
) -> dict[str, Any]:
    """Scores the trees of one treebank file against those of another: the figures of `treewright eval --json`.

    Without `params`, brackets are scored with "collins", or "proper" in formats that can hold discontinuous trees. Labels
    such as NP-SBJ are compared up to their first `-` or `=`, or whole with functions="keep".
    """
    return cast(dict[str, Any], json.loads(_evaluate(os.fspath(gold), os.fspath(predicted), params, functions)))


def oracle(
    system: str,
    gold: str,
    actions: str | Iterable[str] = (),
    *,
    oracle: str | None = None,
    labels: Iterable[str] = (),
    single_root: bool = True,
) -> dict[str, Any]:
    """The loss of a configuration and of every legal action in it, as `treewright oracle` shows them.

    >>> treewright.oracle("in-order", "(S (NP w0 w1) (VP w2))", "SH NT-S")["optimal"]  # doctest: +SKIP
    """
    prefix = actions.split() if isinstance(actions, str) else list(actions)
    return cast(dict[str, Any], json.loads(_oracle(system, gold, prefix, oracle, list(labels), single_root)))


def derive(path: StrPath, system: str, *, head_rules: str | None = None) -> list[list[str] | None]:
    """The actions that build each tree of a treebank file; None for a tree that the system cannot build."""
    return _derive(os.fspath(path), system, head_rules)


def convert(path: StrPath, to: str, *, format: str | None = None, output: StrPath | None = None) -> str:
    """A treebank file in another format, as text; with `output` it is written, too."""
    text = _convert(os.fspath(path), to, format)
    if output is not None:
        Path(output).write_text(text, encoding="utf-8")
    return text


def draw(tree: Tree | Sentence, *, format: str = "svg", width: int = 100) -> str:
    """A drawing of a tree: SVG, or characters for a terminal (`format="text"`)."""
    whole = tree.tree if isinstance(tree, Sentence) else tree
    if whole is None:
        raise ValueError("the sentence has no tree")
    return whole.draw(format, width)


def to_nltk(tree: Tree) -> Any:
    """The same tree for NLTK: an `nltk.Tree`, or an `nltk.parse.DependencyGraph`.

    An `nltk.Tree` has its words in the order of its leaves, so discontinuous trees are refused.
    """
    import nltk

    if tree.kind == "dependencies":
        from nltk.parse import DependencyGraph

        rows = tree.to_string("conllx").strip()
        return DependencyGraph(rows, cell_separator="\t", top_relation_label="root")
    if tree.is_discontinuous():
        raise ValueError("an nltk.Tree cannot hold a discontinuous tree: see tree.to_string('discbracket')")
    # Trees may be deep, so there is no recursion: every part is met before those below it, then made after them.
    met: list[tuple[Tree, int]] = []
    open_parts = [(tree, -1)]
    while open_parts:
        part, parent = open_parts.pop()
        open_parts.extend((child, len(met)) for child in part if not isinstance(child, str))
        met.append((part, parent))
    below: list[list[Any]] = [[] for _ in met]
    made = None
    # Of sisters the last was met first, so the first is made first.
    for at in range(len(met) - 1, -1, -1):
        part, parent = met[at]
        made = nltk.Tree(part.label(), below[at] or list(part))
        if parent >= 0:
            below[parent].append(made)
    return made


def from_nltk(tree: Any) -> Tree:
    """An `nltk.Tree` with tags above its words, or a `DependencyGraph`, as a treewright tree."""
    entry = _of_graph(tree) if hasattr(tree, "nodes") else _of_tree(tree)
    found = from_string(json.dumps(entry), "json")[0].tree
    assert found is not None
    return found


def _of_tree(tree: Any) -> dict[str, Any]:
    """The JSON of a constituent tree, made without recursion."""
    tokens: list[dict[str, str]] = []
    nodes: list[dict[str, Any]] = []
    parents: list[dict[str, int]] = []
    open_parts: list[tuple[Any, int | None]] = [(tree, None)]
    while open_parts:
        part, parent = open_parts.pop()
        if isinstance(part, str):
            raise ValueError(f"there is no tag above the word {part!r}")
        if len(part) == 1 and isinstance(part[0], str) and parent is not None:
            tokens.append({"form": part[0], "tag": part.label()})
            parents.append({"parent": parent})
        else:
            nodes.append({"label": part.label(), "parent": parent})
            open_parts.extend((child, len(nodes) - 1) for child in reversed(part))
    return {"tokens": tokens, "constituents": {"nodes": nodes, "tokens": parents}}


def _of_graph(graph: Any) -> dict[str, Any]:
    """The JSON of a dependency graph."""
    words = [graph.nodes[i] for i in sorted(graph.nodes) if graph.nodes[i]["word"] is not None]
    names = {"form": "word", "lemma": "lemma", "tag": "ctag", "xpos": "tag", "feats": "feats"}
    tokens = [{key: _known(word[name]) for key, name in names.items()} for word in words]
    arcs = [{"head": word["head"], "relation": _known(word["rel"])} for word in words]
    return {"tokens": tokens, "dependencies": arcs}


def _known(value: Any) -> str:
    """A value of a column; empty if it is missing."""
    return "" if value is None or value != value or value == "_" else str(value)


#: The columns of `to_pandas` after the number of the sentence.
_COLUMNS = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "start", "end"]


def to_pandas(document: Document) -> Any:
    """The words of a document as a data frame, a row each."""
    import pandas

    rows = [
        [number, *(getattr(token, column) for column in _COLUMNS)]
        for number, sentence in enumerate(document, 1)
        for token in sentence.tokens
    ]
    return pandas.DataFrame(rows, columns=["sentence", *_COLUMNS])


def from_pandas(frame: Any) -> Document:
    """The sentences of a data frame with the columns of `to_pandas`; only `sentence` and `form` are required."""
    entries = []
    for _, rows in frame.groupby("sentence", sort=False):
        tokens, arcs = [], []
        for row in rows.to_dict("records"):
            names = {"form": "form", "lemma": "lemma", "tag": "upos", "xpos": "xpos", "feats": "feats"}
            token = {key: _known(row.get(name)) for key, name in names.items()}
            # A word may well be an underscore.
            token["form"] = str(row["form"])
            if _known(row.get("start")) and _known(row.get("end")):
                token["misc"] = f"TokenRange={int(row['start'])}:{int(row['end'])}"
            tokens.append(token)
            if _known(row.get("head")):
                arcs.append({"head": int(row["head"]), "relation": _known(row.get("deprel"))})
        entry: dict[str, Any] = {"tokens": tokens}
        if arcs:
            entry["dependencies"] = arcs
        entries.append(json.dumps(entry))
    return from_string("\n".join(entries) + "\n", "json")
