"""What is written in Rust; `treewright` has all of it that is meant for others."""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import Any, final

__all__ = [
    "Document",
    "Model",
    "Pipe",
    "Sentence",
    "Token",
    "Tree",
    "TreewrightError",
    "convert",
    "derive",
    "evaluate",
    "from_string",
    "load",
    "oracle",
    "read",
    "train",
]

class TreewrightError(ValueError):
    """What is wrong with an input, a model or settings.

    `code` is stable (such as TW104); `file`, `line`, `column` and `sentence` say where, from 1, and are None where that is
    not known.
    """

    code: str
    file: str | None
    line: int | None
    column: int | None
    sentence: int | None

@final
class Token:
    """A word and what is known about it."""

    @property
    def id(self) -> int:
        """Its number in the sentence, from 1."""
    @property
    def form(self) -> str:
        """The word as written."""
    @property
    def lemma(self) -> str:
        """The lemma; empty if there is none."""
    @property
    def upos(self) -> str:
        """The part of speech: UPOS, or the one tag of a constituent treebank."""
    @property
    def xpos(self) -> str:
        """The treebank's own part of speech beside UPOS."""
    @property
    def feats(self) -> str:
        """Morphological features, such as `Number=Sing`."""
    @property
    def misc(self) -> str:
        """The MISC column."""
    @property
    def head(self) -> int | None:
        """The number of its head, 0 for the root; None without a dependency tree."""
    @property
    def deprel(self) -> str | None:
        """Its relation to its head; None without a dependency tree."""
    @property
    def start(self) -> int | None:
        """Where it begins in the text, in characters; None for tokens that came without a text."""
    @property
    def end(self) -> int | None:
        """Where it ends in the text."""

@final
class Tree:
    """A constituent tree or a part of it, or a dependency tree."""

    @property
    def kind(self) -> str:
        """`dependencies` or `constituents`."""
    def label(self) -> str:
        """The label of the constituent, or the tag above a word."""
    def leaves(self) -> list[str]:
        """The words below."""
    def pos(self) -> list[tuple[str, str]]:
        """The words below with their tags."""
    def indices(self) -> list[int]:
        """The positions of the words below in the sentence, from 0; with gaps where the constituent is discontinuous."""
    def heads(self) -> list[int]:
        """Heads of the words, from 1, 0 for the root. Only dependency trees have them."""
    def relations(self) -> list[str]:
        """The relations of the words to their heads. Only dependency trees have them."""
    def is_discontinuous(self) -> bool:
        """Does an arc cross another, or has this constituent, or one below it, a gap?"""
    def subtrees(self, filter: Callable[[Tree], object] | None = None) -> list[Tree]:
        """This constituent and all below it, each before those below it; with `filter`, those for which it is true."""
    def height(self) -> int:
        """The number of levels: 2 for a tag above its word."""
    def to_string(self, format: str | None = None) -> str:
        """The tree as brackets or CoNLL-U, or in another treebank format."""
    def draw(self, format: str = "svg", width: int = 100) -> str:
        """A drawing as SVG, or with characters (`text`)."""
    def pretty_print(self, width: int = 100) -> None:
        """Prints the drawing with characters."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int | tuple[int, ...], /) -> Tree | str: ...
    def __iter__(self) -> Iterator[Tree | str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def _repr_svg_(self) -> str: ...

@final
class Sentence:
    """A sentence: its tokens and its tree."""

    @property
    def tokens(self) -> list[Token]:
        """The words."""
    @property
    def tree(self) -> Tree | None:
        """The tree; None if there is no parser, or no word."""
    @property
    def text(self) -> str:
        """The sentence as it stands in the text, or its words with spaces between them."""
    @property
    def id(self) -> str:
        """Its name in the treebank, or its number in the document."""
    def to_string(self, format: str | None = None) -> str:
        """The sentence in a treebank format, as `Document.to_string`."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Token: ...
    def __iter__(self) -> Iterator[Token]: ...
    def _repr_svg_(self) -> str | None: ...

@final
class Document:
    """A text with its sentences."""

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences."""
    @property
    def text(self) -> str | None:
        """The text as it was given; None for tokens."""
    def to_string(self, format: str | None = None) -> str:
        """The document in a treebank format (`conllu`, `ptb`, `discbracket`, `export`, `json`, ..).

        By default CoNLL-U for dependencies and brackets for constituents.
        """
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Sentence: ...
    def __iter__(self) -> Iterator[Sentence]: ...

@final
class Pipe:
    """An iterator of documents."""

    def __iter__(self) -> Pipe: ...
    def __next__(self) -> Document: ...

@final
class Model:
    """A model, ready to parse. It can be used from several threads at once."""

    @property
    def kind(self) -> str | None:
        """What trees it builds, `dependencies` or `constituents`; None without a parser."""
    @property
    def parts(self) -> list[tuple[str, int]]:
        """Its parts: segmenter, tagger, lemmatiser, parsers, with their sizes in bytes."""
    def __call__(self, text: str, lines: str = "free") -> Document:
        """Segments, tags and parses a text."""
    def parse_tokens(self, words: list[str], tags: list[str] | None = None) -> Document:
        """Tags and parses the words of one sentence; with tags, they are kept."""
    def pipe(
        self,
        texts: Iterable[str] | Iterable[list[str]],
        batch_size: int = 64,
        jobs: int | None = None,
        lines: str = "free",
    ) -> Pipe:
        """Parses texts, or lists of words, from an iterable one after the other."""
    def parse_arrow(
        self,
        batch: Any,
        text_column: str = "text",
        output: str = "parse",
        format: str | None = None,
        jobs: int | None = None,
    ) -> Any:
        """See `treewright.parse_arrow`."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the model file; packed and compressed if the name ends in `.gz`."""

def load(path: str | PathLike[str] | None = None, kind: str | None = None) -> Model: ...
def read(path: str | PathLike[str], format: str | None = None) -> Document:
    """The sentences of a treebank file, whose format is recognised unless it is named."""

def from_string(text: str, format: str | None = None) -> Document:
    """The sentences of a treebank that is a text; its format is recognised unless it is named."""

def convert(path: str | PathLike[str], to: str, format: str | None = None) -> str: ...
def evaluate(
    gold: str | PathLike[str],
    predicted: str | PathLike[str],
    params: str | None = None,
    functions: str = "strip",
) -> str: ...
def oracle(
    system: str,
    gold: str,
    actions: list[str],
    oracle: str | None = None,
    labels: list[str] = ...,
    single_root: bool = True,
) -> str: ...
def derive(path: str | PathLike[str], system: str, head_rules: str | None = None) -> list[list[str] | None]: ...
def train(
    train: str | PathLike[str],
    dev: str | PathLike[str] | None = None,
    recipe: str | None = None,
    without: list[str] = ...,
    epochs: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
) -> Model: ...
