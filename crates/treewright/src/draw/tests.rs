//! Tests of the drawings: golden files, and properties of random trees.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::draw::layout::Structure;
use crate::draw::scene::{Line, Metrics, Scene, Text};
use crate::draw::svg::PIXELS;
use crate::draw::terminal::CELLS;
use crate::draw::*;
use crate::error::Code;
use crate::ids::TokenIdx;
use crate::sentence::Sentence;
use crate::tree::Entry;
use crate::tree::{Arc, Child, DependencyTree, Tree, TreeBuilder};

/// A tree from discbracket-like text: `(S (NP 0=he/PRP) ...)`.
fn constituents(text: &str) -> Entry {
    let mut builder = TreeBuilder::default();
    let mut words: Vec<(usize, String, String)> = Vec::new();
    let mut stack = Vec::new();
    for piece in
        text.replace('(', " ( ").replace(')', " ) ").split_whitespace().collect::<Vec<_>>().windows(2)
    {
        match (piece[0], piece[1]) {
            ("(", label) => {
                let (label, edge) = label.split_once(':').unwrap_or((label, ""));
                let node = builder.node(label);
                builder.set_edge(node, edge);
                if let Some(&parent) = stack.last() {
                    builder.attach(Child::Node(node), parent);
                }
                stack.push(node);
            }
            (_, word) if word.contains('=') => {
                let (index, word) = word.split_once('=').expect("just seen");
                let (form, tag) = word.rsplit_once('/').expect("a word has a tag");
                let (tag, edge) = tag.split_once(':').unwrap_or((tag, ""));
                let index = index.parse().expect("an index is a number");
                let parent = *stack.last().expect("a word is in brackets");
                builder.attach(Child::Token(TokenIdx::new(index)), parent);
                builder.set_token_edge(TokenIdx::new(index), edge);
                words.push((index, form.to_owned(), tag.to_owned()));
            }
            (_, ")") => {
                stack.pop();
            }
            _ => {}
        }
    }
    words.sort();
    let sentence = Sentence::from_tagged(words.iter().map(|(_, form, tag)| (form.as_str(), tag.as_str())));
    Entry { sentence, tree: Some(builder.finish().expect("a fixture is a tree").into()) }
}

/// A dependency tree from `word/TAG/head/relation`, heads from 1.
fn dependencies(text: &str) -> Entry {
    let mut words = Vec::new();
    let mut arcs = Vec::new();
    for word in text.split_whitespace() {
        let fields: Vec<&str> = word.split('/').collect();
        words.push((fields[0], fields[1]));
        let head: usize = fields[2].parse().expect("a head is a number");
        arcs.push(Arc { head: head.checked_sub(1).map(TokenIdx::new), label: fields[3].into() });
    }
    Entry { sentence: Sentence::from_tagged(words), tree: Some(DependencyTree { arcs }.into()) }
}

fn layout(entry: &Entry) -> Layout {
    Layout::of(entry, &Options::default()).expect("a fixture can be drawn")
}

fn turned(entry: &Entry, orientation: Orientation) -> Layout {
    Layout::of(entry, &Options { orientation, ..Options::default() }).expect("a fixture can be drawn")
}

/// Compares with `golden/NAME`, or rewrites that file if `UPDATE_GOLDEN` is set.
#[track_caller]
fn check_golden(name: &str, drawing: &str) {
    let path = format!("{}/src/draw/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, drawing).expect("the golden file can be written");
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        drawing == golden,
        "{name} has changed (UPDATE_GOLDEN=1 rewrites it). It was\n{golden}\nand is\n{drawing}"
    );
}

#[track_caller]
fn check_terminal(name: &str, layout: &Layout) {
    let drawing = terminal(layout, &TerminalOptions::default()).expect("a fixture can be drawn");
    check_golden(&format!("{name}.txt"), &drawing);
}

#[track_caller]
fn check_all(name: &str, entry: &Entry) {
    check_terminal(name, &layout(entry));
    check_golden(&format!("{name}.svg"), &svg(&layout(entry)).expect("a fixture can be drawn"));
    let tex =
        [tex_head(), &tex_picture(&layout(entry)).expect("a fixture can be drawn"), tex_tail()].concat();
    check_golden(&format!("{name}.tex"), &tex);
}

fn english() -> Entry {
    constituents("(S (NP 0=The/DT 1=dog/NN) (VP 2=chased/VBD (NP 3=a/DT 4=cat/NN)) 5=./.)")
}

fn dutch() -> Entry {
    constituents(
        "(SMAIN (NP 0=Zij/PRON) 1=heeft/V (VC (NP 2=een/DET 3=man/N (REL (NP 5=die/PRON) (SSUB 6=lachte/V))) 4=gezien/V))",
    )
}

fn german() -> Entry {
    constituents(
        "(S (VP:OC (NP:OA 0=Den/ART:NK 1=Film/NN:NK) 4=gesehen/VVPP:HD) 2=hat/VAFIN:HD (NP:SB 3=niemand/PIS:HD))",
    )
}

fn hearing() -> Entry {
    dependencies(
        "A/DET/2/det hearing/NOUN/3/nsubj:pass is/AUX/0/root scheduled/VERB/3/vc on/ADP/2/nmod the/DET/7/det \
         issue/NOUN/5/pc today/NOUN/4/tmp",
    )
}

fn greek() -> Entry {
    dependencies(
        "μεγάλην/ADJ/4/ATR εἶδεν/VERB/0/PRED τὴν/DET/4/ATR πόλιν/NOUN/2/OBJ ὁ/DET/6/ATR ἀνήρ/NOUN/2/SBJ ./PUNCT/0/AuxK",
    )
}

fn arabic() -> Entry {
    dependencies("قرأ/VERB/0/root الولد/NOUN/1/nsubj الكتاب/NOUN/1/obj الجديد/ADJ/3/amod ./PUNCT/1/punct")
}

fn japanese() -> Entry {
    dependencies("猫/NOUN/5/nsubj が/ADP/1/case 魚/NOUN/5/obj を/ADP/3/case 食べ/VERB/0/root た/AUX/5/aux")
}

/// The cumulative nursery rhyme: each noun the head of the relative clause that follows.
fn house(n_clauses: usize) -> (Entry, Entry) {
    let words = "the farmer sowing his corn that kept the proud cock that woke the shaven priest that married the tattered \
                 man that kissed the lonely maiden that milked the crumpled cow that tossed the old dog that worried the grey \
                 cat that killed the big rat that ate the brown malt that lay the tall house that saw the good Jack";
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut tree = "(S (NP 0=This/DT) (VP 1=is/VBZ (NP".to_owned();
    let mut arcs = "This/DET/2/nsubj is/VERB/0/root".to_owned();
    for (i, [a, b, c, d, e]) in words.as_chunks().0.iter().take(n_clauses).enumerate() {
        let at = 2 + 5 * i;
        if i == 0 {
            tree += &format!(" 2={a}/DT 3={b}/NN (VP 4={c}/VBG (NP 5={d}/PRP$ 6={e}/NN)");
            arcs +=
                &format!(" {a}/DET/4/det {b}/NOUN/2/attr {c}/VERB/4/acl {d}/PRON/7/nmod:poss {e}/NOUN/5/obj");
        } else {
            tree += &format!(
                " (SBAR {at}={a}/WDT (S (VP {}={b}/VBD (NP {}={c}/DT {}={d}/JJ {}={e}/NN",
                at + 1,
                at + 2,
                at + 3,
                at + 4
            );
            arcs += &format!(
                " {a}/PRON/{0}/nsubj {b}/VERB/{1}/acl:relcl {c}/DET/{2}/det {d}/ADJ/{2}/amod {e}/NOUN/{0}/obj",
                at + 2,
                at,
                at + 5
            );
        }
    }
    tree += &")".repeat(4 * n_clauses);
    (constituents(&tree), dependencies(&arcs))
}

#[test]
fn drawings_are_as_they_were_looked_at() {
    check_all("english", &english());
    check_all("dutch", &dutch());
    check_all("hearing", &hearing());
    check_all("greek", &greek());
    check_all("arabic", &arabic());
    check_terminal("german_edges", &layout(&german()));
    check_terminal("german_edges_down", &turned(&german(), Orientation::Down));
    check_terminal("hearing_down", &turned(&hearing(), Orientation::Down));
    check_terminal("japanese", &layout(&japanese()));
    let (long_tree, long_arcs) = house(12);
    assert_eq!(long_arcs.sentence.len(), 62);
    check_terminal("long_tree", &layout(&long_tree));
    check_terminal("long_arcs", &layout(&long_arcs));
    check_terminal("words_only", &layout(&Entry { tree: None, ..english() }));
    let ascii = TerminalOptions { ascii: true, ..TerminalOptions::default() };
    check_golden("dutch_ascii.txt", &terminal(&layout(&dutch()), &ascii).expect("a fixture can be drawn"));
    let color = TerminalOptions { color: true, ..TerminalOptions::default() };
    check_golden(
        "hearing_color.txt",
        &terminal(&layout(&hearing()), &color).expect("a fixture can be drawn"),
    );
    let page = [
        html_head("Two <sentences>", Theme::Auto),
        html_section(&layout(&dutch()), 1).expect("a fixture can be drawn"),
    ];
    check_golden("page.html", &(page.concat() + &html_tail()));
}

#[test]
fn the_title_of_one_of_several_parses_has_its_rank_and_probability() {
    #[track_caller]
    fn check(id: &str, comments: &[&str], expected: &str) {
        let mut entry = english();
        entry.sentence.id = id.into();
        entry.sentence.comments = comments.iter().map(|&comment| comment.into()).collect();
        assert_eq!(layout(&entry).title(), expected);
    }
    let parse =
        ["# text = a", "# parse = 2", "# score = 23862", "# probability = 0.243972", "# exact = false"];
    check("s1", &parse, "s1 · parse 2, probability 0.244");
    check("", &parse, "parse 2, probability 0.244");
    check("", &["# parse = 1", "# share_of_kept = 0.5"], "parse 1, share of kept parses 0.500");
    check("s1", &["# parse = 3"], "s1 · parse 3");
    check("s1", &["# score = 1", "# exact = true"], "s1");
}

#[test]
fn a_theme_does_not_depend_on_the_screen() {
    let drawn = |theme: Theme| {
        let layout =
            Layout::of(&dutch(), &Options { theme, ..Options::default() }).expect("a fixture can be drawn");
        svg(&layout).expect("a fixture can be drawn") + &html_head("a page", theme)
    };
    let [auto, light, dark] = [Theme::Auto, Theme::Light, Theme::Dark].map(drawn);
    assert_eq!(auto.matches("@media (prefers-color-scheme:dark)").count(), 3);
    assert!(!light.contains("prefers-color-scheme") && !light.contains("#16191d"));
    assert!(!dark.contains("prefers-color-scheme") && dark.contains("color-scheme:dark"));
    // Of two rules for the same thing the later one holds.
    assert!(dark.find(".paper{fill:#fff}") < dark.find(".paper{fill:#16191d}"));
}

#[test]
fn ascii_drawings_are_ascii() {
    let options = TerminalOptions { ascii: true, ..TerminalOptions::default() };
    for entry in [english(), dutch(), german(), hearing()] {
        for orientation in [Orientation::Across, Orientation::Down] {
            let drawing = terminal(&turned(&entry, orientation), &options).expect("a fixture can be drawn");
            assert!(drawing.is_ascii(), "{drawing}");
        }
    }
    // Arrows point at the words, to the left when these stand below one another.
    for (orientation, arrows) in [(Orientation::Across, "vv"), (Orientation::Down, "<")] {
        let entry = dependencies("a/A/2/x b/B/0/root");
        let drawing = terminal(&turned(&entry, orientation), &options).expect("a fixture can be drawn");
        assert_eq!(drawing.matches(['v', '<']).collect::<String>(), arrows, "{drawing}");
    }
}

#[test]
fn bars_are_placed_from_left_to_right() {
    // Y and Z are equally deep and overlap; Z starts first, although Y's parent does.
    let entry = constituents("(S (A 0=a/T (Y 3=d/T 5=f/T)) (B (Z 1=b/T 4=e/T) 2=c/T 6=g/T))");
    let Structure::Constituents(tree) = layout(&entry).structure else { panic!("constituents") };
    let rows: Vec<_> = tree.nodes.iter().map(|node| (node.label.as_str(), node.row)).collect();
    assert_eq!(rows, [("Y", 4), ("A", 1), ("Z", 3), ("B", 2), ("S", 0)]);
}

#[test]
fn an_arc_downwards_runs_outside_of_all_that_leave_its_word() {
    // The highest arc out of the fourth word goes to the left, the last one to the right.
    let entry = dependencies("a/T/2/x b/T/3/x c/T/4/x d/T/6/x e/T/4/x f/T/0/x");
    let Structure::Dependencies(tree) = layout(&entry).structure else { panic!("dependencies") };
    let levels: Vec<_> = tree.arcs.iter().flatten().map(|arc| arc.down_level).collect();
    assert_eq!(levels, [1, 2, 3, 4, 1, 0]);
}

#[test]
fn what_a_crossing_arc_shares_with_another_is_marked() {
    let entry = dependencies("a/T/4/x b/T/0/x c/T/4/x d/T/2/x");
    let options = TerminalOptions { color: true, ..TerminalOptions::default() };
    let drawing = terminal(&layout(&entry), &options).expect("a fixture can be drawn");
    // The line above the tags: an arrow into each word, and the ends of the arcs that leave b and d.
    let last = drawing.lines().rfind(|line| line.contains('▼')).expect("there are arrows");
    let marked = last.matches("\x1b[33m").count();
    assert_eq!(marked, 2, "{drawing}");
}

#[test]
fn words_without_width_take_a_column() {
    let column_of_b = |first: &str| {
        let entry = Entry { sentence: Sentence::from_tagged([(first, ""), ("b", "")]), tree: None };
        let drawing = terminal(&layout(&entry), &TerminalOptions::default()).expect("it can be drawn");
        let before = drawing.lines().find_map(|line| line.split_once('b')).expect("b is drawn").0;
        unicode_width::UnicodeWidthStr::width(before)
    };
    assert_eq!(column_of_b("\u{301}"), column_of_b("a"));
}

#[test]
fn right_to_left_sentences_start_at_the_right() {
    let x_of = |entry: &Entry, direction: Direction, word: usize| {
        let layout =
            Layout::of(entry, &Options { direction, ..Options::default() }).expect("it can be drawn");
        let scene = Scene::of(&layout, &CELLS, i32::MAX, |_| true).expect("it can be drawn");
        scene.texts.iter().find(|text| text.content == layout.words[word].form).expect("it is drawn").x
    };
    assert!(x_of(&arabic(), Direction::Auto, 0) > x_of(&arabic(), Direction::Auto, 1));
    assert!(x_of(&arabic(), Direction::LeftToRight, 0) < x_of(&arabic(), Direction::LeftToRight, 1));
    assert!(x_of(&english(), Direction::Auto, 0) < x_of(&english(), Direction::Auto, 1));
    assert!(x_of(&english(), Direction::RightToLeft, 0) > x_of(&english(), Direction::RightToLeft, 1));
    let mixed = |text: &str| {
        layout(&Entry { sentence: Sentence::from_tagged([(text, "")]), tree: None }).is_right_to_left()
    };
    assert!(mixed("אבג.,12a") && !mixed("אבabc") && !mixed("12"));
    let drawing = terminal(&layout(&arabic()), &TerminalOptions::default()).expect("it can be drawn");
    assert!(drawing.contains("\u{2068}الولد\u{2069}"), "each word is isolated");
}

#[test]
fn control_characters_are_shown_and_never_sent() {
    let entry =
        Entry { sentence: Sentence::from_tagged([("a\x1b[31mb\u{202e}\n", "X\tY"), ("", "")]), tree: None };
    let drawing = terminal(&layout(&entry), &TerminalOptions::default()).expect("it can be drawn");
    assert!(drawing.contains("a␛[31mb\u{fffd}␊") && drawing.contains("X␉Y"), "{drawing}");
    assert!(drawing.chars().all(|c| c == '\n' || !c.is_control()), "{drawing:?}");
}

#[test]
fn texts_are_escaped_in_svg_and_tex() {
    let entry = Entry { sentence: Sentence::from_tagged([("<&\">", "PRP$"), ("50%_\\{", "--")]), tree: None };
    let picture = svg(&layout(&entry)).expect("it can be drawn");
    assert!(picture.contains(">&lt;&amp;&quot;&gt;</text>"), "{picture}");
    let picture = tex_picture(&layout(&entry).with_title("a\nb")).expect("it can be drawn");
    assert!(picture.contains(r"{50\%\_\textbackslash{}\{}") && picture.contains(r"PRP\$"), "{picture}");
    assert!(picture.starts_with("% a␊b\n"), "a title stays a comment");
}

#[track_caller]
fn check_error(entry: &Entry, code: Code) {
    let error = Layout::of(entry, &Options::default()).expect_err("it cannot be drawn");
    assert_eq!(error.code, code, "{error}");
}

#[test]
fn absurd_drawings_are_refused() {
    let mut builder = TreeBuilder::with_tokens(1);
    let mut child = Child::Token(TokenIdx::new(0));
    for _ in 0..100_000 {
        let node = builder.node("X");
        builder.attach(child, node);
        child = Child::Node(node);
    }
    let deep = builder.finish().expect("a chain is a tree");
    let sentence = Sentence::from_tagged([("deep", "JJ")]);
    check_error(&Entry { sentence, tree: Some(deep.into()) }, Code::TooLargeToDraw);
    let sentence = Sentence::from_tagged((0..1_000_000).map(|_| ("a", "b")));
    check_error(&Entry { sentence, tree: None }, Code::TooLargeToDraw);
    // Within the limit on parts, but every arc above the one before: too many cells, though not too large for SVG.
    let n = MAX_PARTS;
    let sentence = Sentence::from_tagged((0..n).map(|_| ("a", "b")));
    let tree = DependencyTree::from_heads((0..n).map(|i| (i > 0).then_some(0)));
    let wide = layout(&Entry { sentence, tree: Some(tree.into()) });
    let error = terminal(&wide, &TerminalOptions::default()).expect_err("that would be 10^8 cells");
    assert_eq!(error.code, Code::TooLargeToDraw);
    assert!(svg(&wide).expect("lines are cheap").len() > n);
}

#[test]
fn the_deepest_tree_that_is_drawn_is_drawn() {
    let n = MAX_PARTS - 1;
    let mut builder = TreeBuilder::with_tokens(1);
    let mut child = Child::Token(TokenIdx::new(0));
    for _ in 0..n {
        let node = builder.node("X");
        builder.attach(child, node);
        child = Child::Node(node);
    }
    let tree = builder.finish().expect("a chain is a tree");
    let entry = Entry { sentence: Sentence::from_tagged([("deep", "JJ")]), tree: Some(tree.into()) };
    let drawing = terminal(&layout(&entry), &TerminalOptions::default()).expect("it is narrow");
    assert_eq!(drawing.matches('X').count(), n);
}

#[test]
fn trees_that_do_not_fit_are_refused() {
    let three = || Sentence::from_tagged([("a", "A"), ("b", "B"), ("c", "C")]);
    let with = |heads: &[Option<usize>]| Entry {
        sentence: three(),
        tree: Some(DependencyTree::from_heads(heads.iter().copied()).into()),
    };
    check_error(&with(&[None, Some(0)]), Code::Mismatch);
    check_error(&with(&[None, Some(0), Some(3)]), Code::BadHead);
    check_error(&with(&[None, Some(2), Some(1)]), Code::Cycle);
    check_error(&with(&[None, Some(1), Some(1)]), Code::Cycle);
    check_error(&Entry { sentence: three(), ..english() }, Code::Mismatch);
}

#[test]
fn second_parents_are_named() {
    let Some(Tree::Constituent(tree)) = english().tree else {
        unreachable!("the fixture is a constituent tree")
    };
    let mut builder = tree.to_builder();
    builder.secondary(Child::Token(TokenIdx::new(1)), "SB", tree.root());
    let entry = Entry { tree: Some(builder.finish().expect("still a tree").into()), ..english() };
    let drawing = terminal(&layout(&entry), &TerminalOptions::default()).expect("it can be drawn");
    assert!(drawing.ends_with("dog is also under S (1-6) as SB\n"), "{drawing}");
}

#[test]
fn an_empty_sentence_is_an_empty_drawing() {
    let entry = Entry::default();
    assert_eq!(terminal(&layout(&entry), &TerminalOptions::default()).expect("nothing to draw"), "");
    assert!(svg(&layout(&entry)).is_ok() && tex_picture(&layout(&entry)).is_ok());
}

/// A tree over `n` words: words and constituents are gathered, two or three at random, until one is left.
fn gathered(n: usize, choices: &[u16], edges: bool) -> Entry {
    const LABELS: [&str; 5] = ["S", "NP", "VP-TMP", "X", "FRAG-LONG-1"];
    let mut choices = choices.iter().map(|&c| usize::from(c)).chain(std::iter::repeat(0));
    let mut next = |below: usize| choices.next().expect("endless") % below;
    let mut builder = TreeBuilder::with_tokens(n);
    let mut loose: Vec<Child> = (0..n).map(|i| Child::Token(TokenIdx::new(i))).collect();
    loop {
        let node = builder.node(LABELS[next(5)]);
        if edges && next(2) == 0 {
            builder.set_edge(node, "SB");
        }
        // Without choices left it must go on gathering, so 0 does not mean a chain.
        let size = if next(4) == 1 { 1 } else { (2 + next(2)).min(loose.len()) };
        for _ in 0..size {
            builder.attach(loose.swap_remove(next(loose.len())), node);
        }
        loose.push(Child::Node(node));
        if loose.len() == 1 {
            break;
        }
    }
    if edges {
        (0..n).step_by(2).for_each(|i| builder.set_token_edge(TokenIdx::new(i), "HD"));
    }
    let words: Vec<(String, &str)> =
        (0..n).map(|i| (format!("w{i}{}", "o".repeat(next(6))), ["", "N", "VERB"][next(3)])).collect();
    let sentence = Sentence::from_tagged(words.iter().map(|(form, tag)| (form.as_str(), *tag)));
    Entry { sentence, tree: Some(builder.finish().expect("one is left").into()) }
}

/// A dependency tree over `n` words: each word in a random order hangs from one before it, or from the root.
fn hung(n: usize, choices: &[u16]) -> Entry {
    let mut choices = choices.iter().map(|&c| usize::from(c)).chain(std::iter::repeat(0));
    let mut next = |below: usize| choices.next().expect("endless") % below;
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|i| order.swap(i, next(i + 1)));
    let mut arcs = vec![Arc::default(); n];
    for (i, &word) in order.iter().enumerate() {
        let head = next(i + 1).checked_sub(1).map(|j| TokenIdx::new(order[j]));
        let label = ["", "x", "nsubj:pass", "obj"][next(4)].into();
        arcs[word] = Arc { head, label };
    }
    let words: Vec<String> = (0..n).map(|i| format!("w{i}{}", "o".repeat(next(6)))).collect();
    let sentence = Sentence::from_tagged(words.iter().map(|form| (form.as_str(), "T")));
    Entry { sentence, tree: Some(DependencyTree { arcs }.into()) }
}

/// The group of a line, and a stretch of it from its upper left end.
type Segment = (usize, (i32, i32), (i32, i32));

/// What must hold of every scene, in every unit.
fn check_scene(scene: &Scene, metrics: &Metrics) {
    for (i, a) in scene.texts.iter().enumerate() {
        assert!(
            a.x >= 0 && a.y >= 0 && a.x + a.width <= scene.width && a.y + metrics.line <= scene.height,
            "{a:?}"
        );
        for b in &scene.texts[..i] {
            let apart = a.x + a.width <= b.x || b.x + b.width <= a.x || (a.y - b.y).abs() >= metrics.line;
            assert!(apart, "{a:?} and {b:?} overlap");
        }
    }
    // Lines of different groups may cross, but nowhere run along each other or meet end to side.
    let segments: Vec<Segment> = scene
        .lines
        .iter()
        .flat_map(|line| line.points.windows(2).map(|p| (line.group, p[0].min(p[1]), p[0].max(p[1]))))
        .filter(|(_, a, b)| a != b)
        .collect();
    for (i, &(group, a, b)) in segments.iter().enumerate() {
        assert!(a.0 == b.0 || a.1 == b.1, "right angles only");
        for &(other, c, d) in segments[..i].iter().filter(|&&(other, ..)| other != group) {
            if (a.0 == b.0) == (c.0 == d.0) {
                let (same, from, to) = if a.0 == b.0 {
                    (a.0 == c.0, a.1.max(c.1), b.1.min(d.1))
                } else {
                    (a.1 == c.1, a.0.max(c.0), b.0.min(d.0))
                };
                assert!(
                    !same || from >= to + metrics.unit,
                    "groups {group} and {other} run along each other"
                );
            }
        }
    }
}

/// Does the line end at the text, from the given side?
fn touches(text: &Text, (x, y): (i32, i32), metrics: &Metrics) -> bool {
    let near = metrics.margin + 2 * metrics.unit;
    x >= text.x - near
        && x < text.x + text.width + near
        && y >= text.y - near
        && y <= text.y + metrics.line + near
}

fn check_drawing(entry: &Entry, orientation: Orientation) {
    let layout = turned(entry, orientation);
    for metrics in [&CELLS, &PIXELS] {
        let scene = Scene::of(&layout, metrics, i32::MAX, |_| true).expect("it can be drawn");
        check_scene(&scene, metrics);
        let text = |content: &str| {
            let content = content.to_owned();
            scene.texts.iter().filter(move |text| text.content == content)
        };
        match (&layout.structure, entry.tree.as_ref().expect("random entries have trees")) {
            (Structure::Constituents(tree), _) => {
                // Every word and constituent but the root has one line, from its parent to itself. (In cells, a
                // line between the edge label and the form of a word without a tag may come on top.)
                let is_branch = |line: &&Line| orientation == Orientation::Down || line.points.len() > 2;
                let mut lines = scene.lines.iter().filter(is_branch);
                assert_eq!(lines.clone().count(), tree.nodes.len() - 1 + layout.words.len());
                if orientation == Orientation::Across {
                    for node in &tree.nodes {
                        for &child in &node.children {
                            let line = lines.next().expect("as many as children");
                            let last = line.points[line.points.len() - 1];
                            assert!(
                                text(&node.label).any(|t| touches(t, line.points[0], metrics)),
                                "{node:?}"
                            );
                            let names: Vec<String> = match child {
                                Child::Node(id) => {
                                    let node = &tree.nodes[id.index()];
                                    [Some(node.label.clone()), node.edge.clone()]
                                        .into_iter()
                                        .flatten()
                                        .collect()
                                }
                                Child::Token(id) => {
                                    let word = &layout.words[id.index()];
                                    let edge = tree.token_edges[id.index()].clone();
                                    [Some(word.form.clone()), word.tag.clone(), edge]
                                        .into_iter()
                                        .flatten()
                                        .collect()
                                }
                            };
                            let mut ends = names.iter().flat_map(|name| {
                                let marked =
                                    format!("{}{name}{}", metrics.edge_marks.0, metrics.edge_marks.1);
                                scene.texts.iter().filter(move |t| t.content == *name || t.content == marked)
                            });
                            assert!(ends.any(|t| touches(t, last, metrics)), "{names:?} at {last:?}");
                        }
                    }
                }
                // No line runs through a text.
                for line in &scene.lines {
                    for pair in line.points.windows(2) {
                        let (a, b) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
                        for text in &scene.texts {
                            let beside = b.0 < text.x || a.0 >= text.x + text.width.max(1);
                            let above = b.1 < text.y + 1 - metrics.unit || a.1 >= text.y + metrics.line;
                            assert!(beside || above, "a line runs through {text:?}");
                        }
                    }
                }
            }
            (Structure::Dependencies(_), Tree::Dependency(tree)) => {
                let n_roots = if orientation == Orientation::Across { 0 } else { tree.roots().count() };
                assert_eq!(scene.lines.len(), tree.len() - n_roots);
                let arcs = tree.arcs.iter().enumerate().filter(|(_, arc)| n_roots == 0 || arc.head.is_some());
                for ((i, arc), line) in arcs.zip(&scene.lines) {
                    let at = |word: usize, (x, y): (i32, i32)| {
                        let text = text(&layout.words[word].form).next().expect("every word is drawn");
                        let centre = text.x + (text.width - metrics.unit) / 2;
                        match orientation {
                            Orientation::Down => (text.y + (metrics.line - metrics.unit) / 2) == y,
                            _ => (x - centre).abs() <= metrics.anchor,
                        }
                    };
                    assert!(
                        at(i, line.points[line.points.len() - 1]),
                        "the arc into word {i} ends elsewhere"
                    );
                    if let Some(head) = arc.head {
                        assert!(at(head.index(), line.points[0]), "the arc into word {i} starts elsewhere");
                    }
                }
            }
            _ => unreachable!("the layout is of the tree's kind"),
        }
    }
    let options = TerminalOptions::default();
    let drawings = [terminal(&layout, &options), svg(&layout), tex_picture(&layout)];
    for drawing in drawings.map(|drawing| drawing.expect("it can be drawn")) {
        for word in &layout.words {
            assert!(drawing.contains(&word.form), "{} is missing", word.form);
        }
        if let Structure::Constituents(tree) = &layout.structure {
            let labels = tree.nodes.iter().filter(|node| node.label == "X").count();
            assert!(drawing.matches('X').count() == labels, "{labels} labels in {drawing}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_constituent_tree_is_drawn(n in 1usize..14, choices in vec(any::<u16>(), 0..120), edges: bool) {
        let entry = gathered(n, &choices, edges);
        check_drawing(&entry, Orientation::Across);
        check_drawing(&entry, Orientation::Down);
    }

    #[test]
    fn any_dependency_tree_is_drawn(n in 1usize..14, choices in vec(any::<u16>(), 0..60)) {
        let entry = hung(n, &choices);
        check_drawing(&entry, Orientation::Across);
        check_drawing(&entry, Orientation::Down);
    }
}

#[test]
fn an_empty_title_takes_no_line() {
    let entry = Entry { sentence: Sentence::from_tagged([("a", "T")]), tree: None };
    let entry = Entry {
        tree: Some(Tree::Dependency(DependencyTree { arcs: vec![Arc { head: None, label: "root".into() }] })),
        ..entry
    };
    let drawn = |title: &str| {
        let layout = Layout::of(&entry, &Options::default()).expect("small").with_title(title);
        terminal(&layout, &TerminalOptions::default()).expect("small")
    };
    assert_eq!(format!("x\n{}", drawn("")), drawn("x"));
}
