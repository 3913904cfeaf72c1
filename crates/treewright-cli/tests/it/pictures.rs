//! PNG and PDF from `draw` and `eval --plot`, with the fonts of the machine or without any.
#![cfg(feature = "pictures")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{finish, folder, program, refusal, run, sample, stdout};
use resvg::tiny_skia::Pixmap;

const DOG: &str = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))";

/// Is there a font in one of the usual places?
fn has_fonts() -> bool {
    fn holds_font(folder: &Path, depth: usize) -> bool {
        fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
            let path = entry.path();
            let extension = path.extension().and_then(OsStr::to_str).unwrap_or("").to_ascii_lowercase();
            ["ttf", "otf", "ttc"].contains(&extension.as_str()) || (depth > 0 && holds_font(&path, depth - 1))
        })
    }
    ["/usr/share/fonts", "/System/Library/Fonts", "C:\\Windows\\Fonts"]
        .iter()
        .any(|folder| holds_font(Path::new(folder), 4))
}

/// The file that the arguments, and its path at their end, write; `None` where there is no font and the program says so.
#[track_caller]
fn picture(name: &str, arguments: &[&str], input: &str) -> Option<Vec<u8>> {
    let path = folder(&format!("pictures-{name}")).join(name);
    let arguments = [arguments, &[path.to_str().expect("a plain path")]].concat();
    if has_fonts() {
        stdout(&arguments, input);
        return Some(fs::read(path).expect("the picture"));
    }
    let message = refusal(1, &arguments, input);
    assert!(message.contains("no font is installed") && !path.exists(), "{message}");
    None
}

/// The value of an attribute in a line of SVG.
fn attribute(line: &str, name: &str) -> f32 {
    let (_, rest) = line.split_once(&format!(" {name}=\"")).expect("the attribute");
    rest.split('"').next().expect("a value").parse().expect("a number")
}

/// How many pixels are neither white nor see-through, in a box with the middle of its lower edge here.
fn n_inked(pixmap: &Pixmap, x: f32, y: f32) -> usize {
    let (left, top) = ((x - 10.0) as u32, (y - 18.0) as u32);
    let pixels = (0..20).flat_map(|dx| (0..18).map(move |dy| (left + dx, top + dy)));
    let pixels = pixels.map(|(x, y)| pixmap.pixel(x, y).expect("a pixel of the picture"));
    pixels.filter(|pixel| pixel.alpha() == 255 && pixel.red() < 128).count()
}

#[test]
fn a_theme_is_that_of_the_picture_whatever_the_screen() {
    let svg = |theme: &str| stdout(&["draw", "-", "--from", "ptb", "--to", "svg", "--theme", theme], DOG);
    assert!(!svg("light").contains("prefers-color-scheme") && svg("auto").contains("prefers-color-scheme"));
    for (theme, paper) in [("auto", 255), ("light", 255), ("dark", 0x16)] {
        let arguments = ["draw", "-", "--from", "ptb", "--theme", theme, "-o"];
        let Some(png) = picture(&format!("{theme}.png"), &arguments, DOG) else { return };
        let corner = Pixmap::decode_png(&png).expect("a PNG").pixel(0, 0).expect("a pixel");
        assert_eq!(corner.red(), paper, "{theme}");
    }
}

#[test]
fn drawings_of_several_parses_have_their_rank_and_probability() {
    let parses = "# parse = 1\n# score = 7\n# probability = 0.75\n(S (N a))\n# parse = 2\n# score = 5\n# probability = 0.25\n(X (N a))\n";
    let text = stdout(&["draw", "-", "--from", "ptb"], parses);
    assert!(text.starts_with("# 1 · parse 1, probability 0.750\n"), "{text}");
    assert!(text.contains("\n# 2 · parse 2, probability 0.250\n"), "{text}");
}

#[test]
fn a_png_shows_every_word_where_the_svg_has_it() {
    let svg = stdout(&["draw", "-", "--from", "ptb", "--to", "svg"], DOG);
    let Some(png) = picture("tree.png", &["draw", "-", "--from", "ptb", "-o"], DOG) else { return };
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let pixmap = Pixmap::decode_png(&png).expect("a PNG");
    let root = svg.lines().next().expect("the svg element");
    let size = (attribute(root, "width") * 2.0, attribute(root, "height") * 2.0);
    assert_eq!((pixmap.width() as f32, pixmap.height() as f32), size);
    let corner = pixmap.pixel(0, 0).expect("a pixel");
    assert_eq!((corner.red(), corner.green(), corner.blue(), corner.alpha()), (255, 255, 255, 255));
    let texts: Vec<&str> = svg.lines().filter(|line| line.starts_with("<text")).collect();
    assert_eq!(texts.len(), 9);
    for text in texts {
        // The origin of the SVG is 14 pixels inside the picture.
        let (x, y) = (attribute(text, "x") + 14.0, attribute(text, "y") + 14.0);
        assert!(n_inked(&pixmap, x * 2.0, y * 2.0) > 8, "{text}");
    }
}

#[test]
fn png_and_pdf_go_to_pipes_and_to_one_file_per_sentence() {
    if has_fonts() {
        for (kind, start) in [("png", &b"\x89PNG"[..]), ("pdf", b"%PDF-")] {
            let draw = || run(&["draw", "-", "--from", "ptb", "--to", kind], DOG);
            let output = draw();
            assert!(output.status.success() && output.stdout.starts_with(start));
            // Two fonts in the order of a hash map would be the same ten times in a row once in a thousand times.
            assert!((0..10).all(|_| draw().stdout == output.stdout), "{kind}");
        }
    }
    let two = format!("{DOG}\n{DOG}\n");
    let folder = folder("pictures-several");
    let draw = |name: &str| {
        let path = folder.join(name);
        run(&["draw", "-", "--from", "ptb", "-o", path.to_str().expect("a plain path")], &two)
    };
    let output = draw("tree-{}.pdf");
    assert_eq!(output.status.success(), has_fonts());
    assert_eq!(crate::common::names(&folder).len(), if has_fonts() { 2 } else { 0 });
    assert_eq!(draw("tree.png").status.code(), Some(1));
    assert!(!folder.join("tree.png").exists());
}

#[test]
fn a_pdf_holds_its_text_and_fonts() {
    let greek = sample("greek_nt.discbracket");
    let Some(pdf) = picture("tree.pdf", &["draw", &greek, "--sentence", "2", "-o"], "") else { return };
    assert!(pdf.starts_with(b"%PDF-") && pdf.len() > 5000);
    assert!(pdf.windows(10).any(|bytes| bytes == b"/ToUnicode"));
}

#[test]
fn curves_are_png_and_pdf_too() {
    let gold = sample("ud_english_ewt.conllu");
    let arguments = ["eval", &gold, &gold, "--plot"];
    if let Some(png) = picture("curve.png", &arguments, "") {
        let pixmap = Pixmap::decode_png(&png).expect("a PNG");
        let n_black = pixmap.pixels().iter().filter(|pixel| pixel.alpha() == 255 && pixel.red() < 50).count();
        // The curve is blue, the text is black.
        assert!(n_black > 500, "{n_black}");
    }
    if let Some(pdf) = picture("curve.PDF", &arguments, "") {
        assert!(pdf.starts_with(b"%PDF-"));
    }
}

#[test]
fn text_that_no_font_can_show_is_an_error() {
    if !has_fonts() {
        return;
    }
    // A code point without a character.
    let tree = "(S (NN dog) (NN b\u{378}))";
    for kind in ["png", "pdf"] {
        let message = refusal(1, &["draw", "-", "--from", "ptb", "--to", kind], tree);
        assert!(message.contains("U+0378") && message.contains("TW702"), "{message}");
    }
    // What shows nothing is not missing.
    for tree in ["(S (NN dog) (NN \u{200b}))", "(S (NN \u{a0}) (NN a\u{ad}b))"] {
        assert!(!stdout_bytes(tree).is_empty());
    }
}

#[track_caller]
fn stdout_bytes(tree: &str) -> Vec<u8> {
    let output = run(&["draw", "-", "--from", "ptb", "--to", "png"], tree);
    assert!(output.status.success(), "{tree:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn pictures_that_are_too_large_are_refused() {
    if !has_fonts() {
        return;
    }
    let long = format!("(S{})", " (NN dog)".repeat(4000));
    for kind in ["png", "pdf"] {
        let message = refusal(1, &["draw", "-", "--from", "ptb", "--to", kind], &long);
        assert!(message.contains("TW701") && message.contains("at most"), "{message}");
    }
}

/// Other systems know no file that says where fonts are.
#[cfg(target_os = "linux")]
#[test]
fn without_any_font_there_are_no_pictures() {
    let folder = folder("pictures-no-fonts");
    let settings = folder.join("fonts.conf");
    fs::create_dir(folder.join("fonts")).expect("a folder");
    let fonts = folder.join("fonts");
    fs::write(&settings, format!("<fontconfig><dir>{}</dir></fontconfig>", fonts.display())).expect("room");
    let path = |name: &str| -> PathBuf { folder.join(name) };
    let gold = sample("ud_english_ewt.conllu");
    for (name, arguments) in [
        ("x.png", &["draw", "-", "--from", "ptb", "-o"][..]),
        ("x.pdf", &["draw", "-", "--from", "ptb", "-o"]),
        ("y.png", &["eval", &gold, &gold, "--plot"]),
    ] {
        let output = finish(program().args(arguments).arg(path(name)).env("FONTCONFIG_FILE", &settings), DOG);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("no font is installed") && message.contains("TW702"), "{message}");
        assert!(output.stdout.is_empty() && !path(name).exists());
    }
    let svg = finish(
        program()
            .args(["draw", "-", "--from", "ptb", "-o"])
            .arg(path("x.svg"))
            .env("FONTCONFIG_FILE", &settings),
        DOG,
    );
    assert!(svg.status.success() && path("x.svg").exists());
}
