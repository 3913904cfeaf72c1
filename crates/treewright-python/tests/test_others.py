"""NLTK, pandas, spaCy and Arrow, as far as they are installed."""

import pytest
import treewright

TEXT = "The boy saw a dog. It didn't bark."


def test_nltk_trees_there_and_back(constituents, nlp):
    nltk = pytest.importorskip("nltk")
    for sentence in constituents(TEXT):
        there = treewright.to_nltk(sentence.tree)
        assert isinstance(there, nltk.Tree) and there.leaves() == sentence.tree.leaves()
        assert there.pformat(margin=10**9) == str(sentence.tree)
        assert treewright.from_nltk(there) == sentence.tree
    tree = nlp(TEXT)[0].tree
    graph = treewright.to_nltk(tree)
    assert graph.root["word"] == "saw"
    assert treewright.from_nltk(graph).heads() == tree.heads()
    assert treewright.from_nltk(graph).relations() == tree.relations()


def test_nltk_trees_with_brackets_and_spaces_in_words():
    nltk = pytest.importorskip("nltk")
    tree = nltk.Tree("S", [nltk.Tree("NP", [nltk.Tree("-LRB-", ["("]), nltk.Tree("NN", ["a/b"])]), nltk.Tree(".", ["."])])
    ours = treewright.from_nltk(tree)
    assert ours.leaves() == ["(", "a/b", "."] and ours[0].label() == "NP"
    assert treewright.to_nltk(ours) == tree
    with pytest.raises(ValueError, match="no tag above"):
        treewright.from_nltk(nltk.Tree("S", ["a", "b"]))
    crossing = treewright.from_string("(S (A (T 0=a) (T 2=c)) (T 1=b))", "discbracket")[0].tree
    with pytest.raises(ValueError, match="discontinuous"):
        treewright.to_nltk(crossing)


def test_nltk_graphs_keep_lemmas_and_tags(nlp):
    pytest.importorskip("nltk")
    graph = treewright.to_nltk(nlp(TEXT)[0].tree)
    assert (graph.nodes[3]["lemma"], graph.nodes[3]["ctag"], graph.nodes[3]["tag"]) == ("see", "VERB", "VBD")
    back = treewright.from_nltk(graph)
    assert back.pos() == nlp(TEXT)[0].tree.pos() and "\tsee\tVERB\tVBD\t" in str(back)


def test_a_deep_tree_becomes_an_nltk_tree(tmp_path):
    pytest.importorskip("nltk")
    file = tmp_path / "deep.mrg"
    file.write_text("(A " * 3000 + "(T word)" + ")" * 3000 + "\n")
    tree = treewright.to_nltk(treewright.read(str(file))[0].tree)
    depth = 0
    while not isinstance(tree, str):
        tree, depth = tree[0], depth + 1
    assert depth == 3001


def test_a_deep_nltk_tree_becomes_a_tree():
    nltk = pytest.importorskip("nltk")
    tree = nltk.Tree("T", ["word"])
    for _ in range(3000):
        tree = nltk.Tree("A", [tree])
    assert treewright.from_nltk(tree).height() == 3002


def test_pandas(nlp):
    pytest.importorskip("pandas")
    frame = treewright.to_pandas(nlp(TEXT))
    assert list(frame["form"])[:3] == ["The", "boy", "saw"] and list(frame["head"])[:3] == [2, 3, 0]
    assert frame["sentence"].max() == 2
    back = treewright.from_pandas(frame)
    assert treewright.to_pandas(back).equals(frame)
    assert [sentence.tree.heads() for sentence in back] == [sentence.tree.heads() for sentence in nlp(TEXT)]
    words = treewright.from_pandas(frame[["sentence", "form"]])
    assert words[0].tree is None and [len(sentence) for sentence in words] == [6, 5]


def test_spacy_documents_and_component(nlp):
    spacy = pytest.importorskip("spacy")
    from treewright.spacy import from_spacy, to_spacy

    doc = to_spacy(nlp(TEXT))
    assert doc.text == TEXT and str(doc[1].morph) == "Number=Sing"
    back = from_spacy(doc)
    for ours, theirs in zip(nlp(TEXT), back, strict=True):
        assert theirs.tree.heads() == ours.tree.heads() and theirs.tree.relations() == ours.tree.relations()
        assert [token.lemma for token in theirs] == [token.lemma for token in ours]
    assert TEXT[back[0][1].start : back[0][1].end] == "boy"
    assert [word.text for word in doc][:3] == ["The", "boy", "saw"]
    assert [word.head.i for word in doc][:3] == [1, 2, 2] and doc[2].dep_ == "ROOT"
    assert [sentence.text for sentence in doc.sents][0] == "The boy saw a dog."
    pipeline = spacy.blank("en")
    pipeline.add_pipe("treewright")
    doc = pipeline("The boy saw a dog.  \n It barked.")
    assert len(list(doc.sents)) == 2 and doc[1].dep_ == "nsubj" and doc[1].pos_ == "NOUN"
    assert doc[2].lemma_ == "see" and str(doc[1].morph) == "Number=Sing"
    assert [len(sentence) for sentence in from_spacy(doc)] == [6, 3]
    assert len(pipeline("")) == 0 and len(pipeline("  ")) == 1


def test_arrow_batches(nlp):
    pa = pytest.importorskip("pyarrow")
    texts = [TEXT, None, "", "One more."] * 5
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        batch = pa.record_batch({"id": pa.array(range(20)), "text": pa.array(texts, kind)})
        one, two = (nlp.parse_arrow(batch, jobs=jobs) for jobs in (1, 2))
        assert one.equals(two) and one.schema.names == ["id", "text", "parse", "parse_error"]
        assert one.column("id").to_pylist() == list(range(20))
        rows = one.column("parse").to_pylist()
        assert rows[0] == str(nlp(TEXT)) and rows[1] is None and rows[2] == ""
        assert one.column("parse_error").null_count == 20
    with pytest.raises(ValueError, match="there is no column"):
        treewright.parse_arrow(batch, "nothing", model=nlp)
    with pytest.raises(ValueError, match="expected strings"):
        treewright.parse_arrow(batch, "id", model=nlp)
    with pytest.raises(ValueError, match="already"):
        treewright.parse_arrow(batch, "text", "id", model=nlp)
    numbered = nlp.parse_arrow(batch.slice(0, 0))
    assert numbered.num_rows == 0
    # A tree that the format cannot hold is an error of its row.
    wrong = nlp.parse_arrow(batch, format="ptb")
    assert wrong.column("parse").null_count >= 10 and "TW007" in wrong.column("parse_error")[0].as_py()
