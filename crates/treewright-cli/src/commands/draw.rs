//! `treewright draw`: pictures of trees.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use treewright::draw::{self, Direction, Layout, Options, Orientation, TerminalOptions, Theme};
use treewright::error::Location;
use treewright::treebank::Format;
use treewright::{Code, Error, Result};

use crate::io::{Inputs, Output, ReadArgs, Skipping, is_dash, say, shown_name, usage};
use crate::pictures::Picture;
use crate::values;

/// Draw trees: on the terminal, as SVG, PNG or PDF, as an HTML page or as LaTeX
#[derive(Args)]
#[command(after_help = "\
Examples:
  treewright draw dev.conllu --sentence 3
  treewright draw dev.discbracket --sentence 2 --to svg -o tree.svg
  treewright draw dev.export --sentence -20 -o page.html
  treewright draw dev.export --sentence 2,5- -o page.html
  treewright draw dev.export --sentence 1-3 -o 'tree-{}.svg'
  echo '(S (NP (DT the) (NN dog)) (VP (VBZ barks)))' |
      treewright draw - --from ptb

Sentences that are too wide are drawn with their words below one another. Where lines cross without meeting, the \
horizontal one is interrupted. A sentence with more than 10,000 words and constituents is not drawn.

PNG and PDF use the fonts of this machine; text that none of them can show is an error. In SVG and HTML the viewer \
chooses the fonts.")]
pub struct DrawArgs {
    /// The files to draw (`-` for stdin)
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,

    /// Kind of drawing [default: by the output's extension, else terminal]
    #[arg(long, value_enum, value_name = "KIND")]
    to: Option<Kind>,

    /// Draw only these sentences, counted from 1 over all files: 7, 3-5, 2- (to the end), -5 (the first five) or 1,3
    #[arg(long, short, value_name = "N", value_delimiter = ',', allow_hyphen_values = true)]
    sentence: Vec<Numbers>,

    /// Write to this file; `{}` in its name stands for the sentence number (one file per sentence)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The maximum width, in characters [default: the terminal's, else 100]
    #[arg(long, value_name = "N")]
    width: Option<usize>,

    /// Draw lines only with + - |
    #[arg(long)]
    ascii: bool,

    /// The direction of the words: left to right, right to left, or that of the script (auto)
    #[arg(long, value_parser = values::choice(DIRECTIONS), default_value = "auto")]
    direction: Direction,

    /// Words next to each other or below one another [auto: by the width]
    #[arg(long, value_parser = values::choice(LAYOUTS), default_value = "auto")]
    layout: Orientation,

    /// Colours of SVG, PNG, PDF and HTML: light, dark, or those of the reader's screen (auto; PNG and PDF are then light)
    #[arg(long, value_parser = values::choice(THEMES), default_value = "auto")]
    theme: Theme,

    /// Leave out the part-of-speech tags
    #[arg(long)]
    no_tags: bool,

    /// Use colours on the terminal [auto: on a terminal, unless NO_COLOR is set]
    #[arg(long, value_parser = values::choice(COLORS), default_value = "auto")]
    color: Color,

    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Box characters
    Terminal,
    /// One SVG file per sentence
    Svg,
    /// One PNG file per sentence
    Png,
    /// One PDF file per sentence
    Pdf,
    /// One page with all sentences
    Html,
    /// A LaTeX document (TikZ), one page per sentence
    Tex,
}

impl Kind {
    /// For kinds that are one picture per file.
    fn picture(self) -> Option<Picture> {
        match self {
            Kind::Svg => Some(Picture::Svg),
            Kind::Png => Some(Picture::Png),
            Kind::Pdf => Some(Picture::Pdf),
            Kind::Terminal | Kind::Html | Kind::Tex => None,
        }
    }
}

const DIRECTIONS: &[(&str, Direction)] =
    &[("auto", Direction::Auto), ("ltr", Direction::LeftToRight), ("rtl", Direction::RightToLeft)];
const LAYOUTS: &[(&str, Orientation)] =
    &[("auto", Orientation::Auto), ("across", Orientation::Across), ("down", Orientation::Down)];

const THEMES: &[(&str, Theme)] = &[("light", Theme::Light), ("dark", Theme::Dark), ("auto", Theme::Auto)];

/// Are there colours? By the terminal if it is not said.
type Color = Option<bool>;

const COLORS: &[(&str, Color)] = &[("auto", None), ("always", Some(true)), ("never", Some(false))];

/// A sentence number or a range of them, both ends included.
#[derive(Clone, Copy)]
struct Numbers {
    first: usize,
    last: usize,
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n > 0);
        let (first, last) = match text.split_once('-') {
            Some(("", last)) => (Some(1), number(last)),
            Some((first, "")) => (number(first), Some(usize::MAX)),
            Some((first, last)) => (number(first), number(last)),
            None => (number(text), number(text)),
        };
        match (first, last) {
            (Some(first), Some(last)) if first <= last => Ok(Numbers { first, last }),
            _ => Err("expected a number from 1, or a range such as 3-5, 2- or -5".to_owned()),
        }
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "sentence {}", self.first)
        } else if self.last == usize::MAX {
            write!(f, "sentence {} or later", self.first)
        } else {
            write!(f, "sentences {}-{}", self.first, self.last)
        }
    }
}

pub fn run(args: &DrawArgs) -> Result<ExitCode> {
    let kind = match (args.to, args.output.as_deref()) {
        (Some(kind), _) => kind,
        (None, path) => kind_of(path).ok_or_else(|| {
            usage(format!(
                "-o {}: no such kind of drawing; expected a name that ends in .svg, .png, .pdf, .html, .tex or .txt, \
                 or --to terminal, svg, png, pdf, html or tex",
                path.unwrap_or(Path::new("")).display()
            ))
        })?,
    };
    Inputs::default().with("the input", &args.files).refuse_as_output(args.output.as_deref())?;
    if let Some(picture) = kind.picture() {
        let is_stdout = args.output.as_deref().is_none_or(is_dash);
        if picture != Picture::Svg && is_stdout && std::io::stdout().is_terminal() {
            return Err(usage("a terminal shows no PNG or PDF: name a file with -o"));
        }
        picture.check()?;
    }
    let mut drawer = Drawer::new(args, kind)?;
    let mut skipping = Skipping::new(args.read.on_error);
    let progress = args.read.progress(&args.files);
    let last = args.sentence.iter().map(|numbers| numbers.last).max().unwrap_or(usize::MAX);
    let mut number = 0;
    'files: for file in &args.files {
        let opened = args.read.open(file, &progress)?;
        if matches!(opened.format, Format::Text | Format::Tokens) && !args.read.quiet {
            let name = shown_name(file);
            say!(
                "note: {name} is text without trees; `treewright parse {name}` draws the parser's trees on a terminal"
            );
        }
        for (index, item) in opened.reader.enumerate() {
            number += 1;
            let is_wanted = args.sentence.is_empty()
                || args.sentence.iter().any(|numbers| (numbers.first..=numbers.last).contains(&number));
            if let Some(entry) = skipping.accept(item)?.filter(|_| is_wanted) {
                let drawn = Layout::of(&entry, &drawer.options)
                    .and_then(|layout| drawer.draw(layout, number))
                    .map_err(|error| in_sentence(error, file, index + 1));
                skipping.accept(drawn)?;
            }
            if number >= last {
                break 'files;
            }
        }
    }
    progress.clear();
    drawer.finish()?;
    if let Some(numbers) = args.sentence.iter().find(|numbers| numbers.first > number) {
        let message = format!("there is no {numbers}: the input has {number}");
        return Err(Error::new(Code::Mismatch, message));
    }
    Ok(skipping.report())
}

fn in_sentence(error: Error, file: &Path, number: usize) -> Error {
    match error.code {
        Code::Io => error,
        _ => Error { location: Location::default(), ..error }.in_file(&shown_name(file)).in_sentence(number),
    }
}

/// The kind of drawing that the output's name asks for; `None` if there is no such kind.
fn kind_of(output: Option<&Path>) -> Option<Kind> {
    let extension = output.and_then(Path::extension);
    match extension.map(|extension| extension.to_ascii_lowercase()).as_deref().map(|e| e.to_str()) {
        Some(Some("svg")) => Some(Kind::Svg),
        Some(Some("png")) => Some(Kind::Png),
        Some(Some("pdf")) => Some(Kind::Pdf),
        Some(Some("html" | "htm")) => Some(Kind::Html),
        Some(Some("tex")) => Some(Kind::Tex),
        None | Some(Some("txt" | "text" | "ansi")) => Some(Kind::Terminal),
        Some(_) => None,
    }
}

/// Writes drawings one by one, into one file or one file each.
struct Drawer<'a> {
    kind: Kind,
    options: Options,
    terminal: TerminalOptions,
    title: String,
    pattern: Option<&'a str>,
    output: Option<Output>,
    n_drawn: usize,
}

impl<'a> Drawer<'a> {
    fn new(args: &'a DrawArgs, kind: Kind) -> Result<Self> {
        let pattern = args.output.as_deref().and_then(Path::to_str).filter(|path| path.contains("{}"));
        let on_terminal = args.output.is_none() && std::io::stdout().is_terminal();
        let wants_color = || std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let color = args.color.unwrap_or_else(|| on_terminal && wants_color());
        let terminal_width =
            || terminal_size::terminal_size().filter(|_| on_terminal).map(|(width, _)| usize::from(width.0));
        let name = |file: &PathBuf| match file.file_name() {
            Some(name) if !is_dash(file) => name.to_string_lossy().into_owned(),
            _ => shown_name(file).into_owned(),
        };
        let title = args.files.iter().map(name).collect::<Vec<_>>().join(", ");
        let mut drawer = Drawer {
            kind,
            options: Options {
                tags: !args.no_tags,
                direction: args.direction,
                orientation: args.layout,
                theme: args.theme,
            },
            terminal: TerminalOptions {
                width: args.width.or_else(terminal_width).unwrap_or(100),
                color,
                ascii: args.ascii,
            },
            title,
            pattern,
            output: None,
            n_drawn: 0,
        };
        if pattern.is_none() {
            drawer.open(args.output.as_deref())?;
        }
        Ok(drawer)
    }

    fn open(&mut self, path: Option<&Path>) -> Result<()> {
        let mut output = match path {
            None if self.kind == Kind::Terminal => Output::stdout_with_colors(),
            path => Output::create(path)?,
        };
        let [head, _] = self.frame();
        output.write_all(head.as_bytes())?;
        self.output = Some(output);
        Ok(())
    }

    fn draw(&mut self, layout: Layout, number: usize) -> Result<()> {
        let picture = self.kind.picture();
        if picture.is_some() && self.n_drawn > 0 && self.pattern.is_none() {
            let message = "an SVG, PNG or PDF file holds one sentence: choose it with --sentence, put {} into the \
                           name of the output for one file each, or use --to html";
            return Err(Error::new(Code::WrongTreeKind, message));
        }
        let drawing = match self.kind {
            Kind::Terminal => {
                let title = match layout.title() {
                    "" => format!("# {number}"),
                    name => format!("# {number} · {name}"),
                };
                let mut text = draw::terminal(&layout.with_title(title), &self.terminal)?;
                if self.n_drawn > 0 && self.pattern.is_none() {
                    text.insert(0, '\n');
                }
                text
            }
            Kind::Svg | Kind::Png | Kind::Pdf => draw::svg(&layout)?,
            Kind::Html => draw::html_section(&layout, number)?,
            Kind::Tex => draw::tex_picture(&layout)?,
        };
        let bytes = match picture {
            Some(picture) => picture.bytes(drawing)?,
            None => drawing.into_bytes(),
        };
        if let Some(pattern) = self.pattern {
            self.open(Some(Path::new(&pattern.replace("{}", &number.to_string()))))?;
        }
        let output = self.output.as_mut().expect("opened at the start, or just now");
        output.write_all(&bytes)?;
        self.n_drawn += 1;
        if self.pattern.is_some() {
            self.finish()?;
        }
        Ok(())
    }

    /// Ends the current file.
    fn finish(&mut self) -> Result<()> {
        let Some(mut output) = self.output.take() else { return Ok(()) };
        let [_, tail] = self.frame();
        output.write_all(tail.as_bytes())?;
        output.finish()
    }

    /// The start and the end of a file.
    fn frame(&self) -> [String; 2] {
        match self.kind {
            Kind::Terminal | Kind::Svg | Kind::Png | Kind::Pdf => Default::default(),
            Kind::Html => [draw::html_head(&self.title, self.options.theme), draw::html_tail()],
            Kind::Tex => [draw::tex_head(), draw::tex_tail()].map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(usize, usize)>) {
        let numbers = text.parse::<Numbers>().ok().map(|numbers| (numbers.first, numbers.last));
        assert_eq!(numbers, expected, "{text}");
    }

    #[test]
    fn sentence_numbers_are_numbers_or_ranges() {
        check("7", Some((7, 7)));
        check("3-5", Some((3, 5)));
        check("-3", Some((1, 3)));
        check("3-", Some((3, usize::MAX)));
        for wrong in ["0", "5-3", "-", "--", "-0", "0-", "x", "", "1-2-3"] {
            check(wrong, None);
        }
    }

    #[test]
    fn the_output_says_the_kind() {
        let kind_at = |path: Option<&str>| kind_of(path.map(Path::new));
        assert!(kind_at(Some("tree-{}.svg")) == Some(Kind::Svg));
        assert!(kind_at(Some("a.b/page.HTML")) == Some(Kind::Html));
        assert!(kind_at(Some("x.tex")) == Some(Kind::Tex));
        for terminal in [Some("drawing.txt"), Some("a.b/drawing"), Some("-"), None] {
            assert!(kind_at(terminal) == Some(Kind::Terminal));
        }
        assert!(kind_at(Some("x.png")) == Some(Kind::Png) && kind_at(Some("x.PDF")) == Some(Kind::Pdf));
        assert!(kind_at(Some("x.jpg")).is_none() && kind_at(Some("x.png.gz")).is_none());
    }
}
