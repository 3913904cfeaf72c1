import pytest
import treewright


def test_train_parse_and_evaluate(data, tmp_path):
    treebank = data / "ud_english_ewt.conllu"
    reports = []
    model = treewright.train(
        treebank,
        treebank,
        output=tmp_path / "mine.model",
        epochs=2,
        without=["segmenter"],
        jobs=2,
        progress=reports.append,
    )
    assert model.kind == "dependencies" and "segmenter" not in dict(model.parts)
    assert any(report.get("stage") == "parser" for report in reports)
    assert [report["epoch"] for report in reports if "errors" in report] == [1, 2]
    with pytest.raises(ValueError, match="no segmenter"):
        model("Text.")
    gold = treewright.read(treebank)
    words = [[token.form for token in sentence] for sentence in gold]
    parsed = tmp_path / "parsed.conllu"
    parsed.write_text("".join(str(doc) for doc in treewright.load(tmp_path / "mine.model").pipe(words)))
    scores = treewright.evaluate(treebank, parsed)
    assert scores["LAS"]["f1"] > 50, scores
    assert treewright.evaluate(treebank, treebank)["LAS"]["f1"] == 100


def test_what_a_callback_raises_ends_the_training(data):
    def stop(report):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        treewright.train(data / "gum.mrg", progress=stop)


def test_settings_that_do_not_exist(data):
    with pytest.raises(ValueError, match="there is no recipe"):
        treewright.train(data / "gum.mrg", recipe="nobody")
    with pytest.raises(ValueError, match="there is no part"):
        treewright.train(data / "gum.mrg", without=["nothing"])
    with pytest.raises(treewright.TreewrightError) as error:
        treewright.train(data / "nobody.mrg")
    assert "nobody.mrg" in str(error.value)


def test_constituents_are_scored(data):
    scores = treewright.evaluate(data / "gum.mrg", data / "gum.mrg")
    assert scores["all"]["f1"] == 100, scores


def test_oracle_and_derivations(data):
    answer = treewright.oracle("arc-hybrid", "2 0", "SHIFT")
    assert answer["loss"] == 0 and "LEFT" in "".join(answer["optimal"])
    assert treewright.oracle("in-order", "(S (NP w0 w1) (VP w2))")["optimal"] == ["SH"]
    with pytest.raises(ValueError, match="there is no system"):
        treewright.oracle("nothing", "2 0")
    with pytest.raises(treewright.TreewrightError) as error:
        treewright.oracle("arc-hybrid", "2 0", "RIGHT")
    assert error.value.code == "TW501"
    derivations = treewright.derive(data / "gum.mrg", "in-order")
    assert derivations[0][0] == "SH" and derivations[0][-1] == "FI"


def test_conversion_and_bad_input(data, tmp_path):
    text = treewright.convert(data / "gum.mrg", "discbracket", output=tmp_path / "out.discbracket")
    assert text == (tmp_path / "out.discbracket").read_text()
    assert treewright.convert(tmp_path / "out.discbracket", "ptb") == treewright.convert(data / "gum.mrg", "ptb")
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tDogs\t_\t_\t_\t_\t7\troot\t_\t_\n\n")
    with pytest.raises(treewright.TreewrightError) as error:
        treewright.read(bad)
    assert (error.value.code, error.value.line) == ("TW104", 1)
    with pytest.raises(ValueError, match="there is no format"):
        treewright.convert(data / "gum.mrg", "nothing")
