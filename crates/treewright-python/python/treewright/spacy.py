"""spaCy: documents from treewright, and a pipeline component.

    nlp = spacy.blank("en")
    nlp.add_pipe("treewright")
"""

from __future__ import annotations

import json
from typing import Any

import treewright


def to_spacy(document: treewright.Document, vocab: Any = None) -> Any:
    """A `spacy.tokens.Doc` with the same words, tags, features, lemmas and heads."""
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    tokens: list[treewright.Token] = []
    heads: list[int] = []
    relations: list[str] = []
    for sentence in document:
        first = len(tokens)
        for token in sentence.tokens:
            heads.append(first + token.head - 1 if token.head else len(tokens))
            relations.append(token.deprel or "" if token.head else "ROOT")
            tokens.append(token)
    return Doc(
        vocab if vocab is not None else Vocab(),
        words=[token.form for token in tokens],
        spaces=_spaces(tokens, document.text),
        pos=[token.upos if _is_universal(token.upos) else "" for token in tokens],
        tags=[token.xpos or token.upos for token in tokens],
        morphs=[token.feats for token in tokens],
        lemmas=[token.lemma for token in tokens],
        heads=heads,
        deps=relations,
    )


def _spaces(tokens: list[treewright.Token], text: str | None) -> list[bool]:
    """Is there a space after each word? None between the words of a contraction, if they are its parts."""
    spaces = []
    for at, token in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if text is None or token.end is None or following is None or following.start is None:
            spaces.append(following is not None and "SpaceAfter=No" not in token.misc)
        elif (token.start, token.end) == (following.start, following.end):
            whole = text[token.start : token.end]
            spaces.append(token.form + following.form not in whole)
        else:
            spaces.append(following.start > token.end)
    return spaces


def from_spacy(doc: Any) -> treewright.Document:
    """The sentences of a parsed `spacy.tokens.Doc`; words of white space are left out.

    Relations are taken as they are, except for spaCy's `ROOT`, which becomes `root`.
    """
    entries = []
    for span in doc.sents:
        words = [word for word in span if not word.is_space]
        numbers = {word.i: number for number, word in enumerate(words, 1)}
        tokens, arcs = [], []
        for word in words:
            misc = [] if word.whitespace_ else ["SpaceAfter=No"]
            misc.append(f"TokenRange={word.idx}:{word.idx + len(word.text)}")
            lemma = word.lemma_ if word.lemma_ != "_" else ""
            token = {"form": word.text, "lemma": lemma, "tag": word.pos_, "xpos": word.tag_}
            tokens.append({**token, "feats": str(word.morph), "misc": "|".join(misc)})
            head = word.head
            # White space is no word here; its own head is as near as it gets.
            while head.is_space and head.head.i != head.i:
                head = head.head
            is_root = word.head.i == word.i or head.i not in numbers
            relation = "root" if is_root else word.dep_
            arcs.append({"head": 0 if is_root else numbers[head.i], "relation": relation})
        if tokens:
            entry: dict[str, Any] = {"tokens": tokens}
            if doc.has_annotation("DEP"):
                entry["dependencies"] = arcs
            entries.append(json.dumps(entry))
    return treewright.from_string("\n".join(entries) + "\n", "json")


def _is_universal(tag: str) -> bool:
    from spacy.parts_of_speech import IDS

    return tag in IDS


class Component:
    """Tags, lemmatises and parses the words that spaCy's tokeniser found, a sentence at a time if there are sentences."""

    def __init__(self, model: str | None = None) -> None:
        self.nlp = treewright.load(model, kind="dependencies")

    def __call__(self, doc: Any) -> Any:
        sentences = list(doc.sents) if doc.has_annotation("SENT_START") else self._cut(doc)
        for span in sentences:
            words = [word for word in span if not word.is_space]
            if not words:
                continue
            parsed = self.nlp.parse_tokens([word.text for word in words])[0]
            for word, token in zip(words, parsed.tokens, strict=True):
                word.pos_ = token.upos if _is_universal(token.upos) else ""
                word.tag_ = token.xpos or token.upos
                word.lemma_ = token.lemma
                word.set_morph(token.feats)
                word.head = words[token.head - 1] if token.head else word
                word.dep_ = token.deprel if token.head else "ROOT"
            for word in span:
                if word.is_space:
                    word.head = words[0]
                    word.dep_ = "dep"
        return doc

    def _cut(self, doc: Any) -> list[Any]:
        """Sentences where treewright's segmenter ends them, at the ends of spaCy's words."""
        ends = {sentence.tokens[-1].end for sentence in self.nlp(doc.text) if len(sentence)}
        spans, start = [], 0
        for word in doc:
            if word.idx + len(word.text) in ends or word.i + 1 == len(doc):
                spans.append(doc[start : word.i + 1])
                start = word.i + 1
        return [span for span in spans if len(span)]


def make(nlp: Any, name: str, model: str | None = None) -> Component:
    """The factory that spaCy calls for `nlp.add_pipe("treewright")`."""
    return Component(model)


make.__module__ = __name__

try:
    from spacy.language import Language
except ImportError:
    pass
else:
    make = Language.factory("treewright", default_config={"model": None})(make)
