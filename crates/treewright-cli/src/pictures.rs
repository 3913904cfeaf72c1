//! Pictures in files: the SVG that the library draws, as it is or made into PNG or PDF.

#[cfg(feature = "pictures")]
mod pdf;

use std::path::Path;

use treewright::Result;

use crate::io::usage;

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    Svg,
    Png,
    Pdf,
}

impl Picture {
    /// What the name of a file asks for; `None` if that is none of these.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_ascii_lowercase();
        match extension.to_str()? {
            "svg" => Some(Picture::Svg),
            "png" => Some(Picture::Png),
            "pdf" => Some(Picture::Pdf),
            _ => None,
        }
    }

    /// What a flag for a picture, such as `--plot`, asks for: SVG if the name has no extension.
    ///
    /// # Errors
    /// When there is no such kind, or it cannot be made here.
    pub fn of_flag(flag: &str, path: &Path) -> Result<Self> {
        let picture = match path.extension() {
            None => Some(Picture::Svg),
            Some(_) => Picture::from_path(path),
        };
        let picture = picture.ok_or_else(|| {
            let name = path.display();
            usage(format!("{flag} {name}: expected a name that ends in .svg, .png or .pdf"))
        })?;
        picture.check()?;
        Ok(picture)
    }

    /// Can this kind be made here? Worth asking before any work is done.
    ///
    /// # Errors
    /// When PNG and PDF were left out of this build, or there is no font to show text with.
    pub fn check(self) -> Result<()> {
        match self {
            Picture::Svg => Ok(()),
            Picture::Png | Picture::Pdf => rendering::check(),
        }
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// When the picture would be too large, or no font can show its text.
    pub fn bytes(self, svg: String) -> Result<Vec<u8>> {
        match self {
            Picture::Svg => Ok(svg.into_bytes()),
            Picture::Png => rendering::png(&svg),
            Picture::Pdf => rendering::pdf(&svg),
        }
    }
}

#[cfg(not(feature = "pictures"))]
mod rendering {
    use super::*;

    pub fn check() -> Result<()> {
        Err(usage(
            "this program was built without PNG and PDF (the cargo feature `pictures`); write SVG instead",
        ))
    }

    pub fn png(_: &str) -> Result<Vec<u8>> {
        check().map(|()| Vec::new())
    }

    pub fn pdf(_: &str) -> Result<Vec<u8>> {
        check().map(|()| Vec::new())
    }
}

#[cfg(feature = "pictures")]
mod rendering {
    use std::sync::{Arc, OnceLock};

    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::fontdb::{Database, Family, Query, Style, Weight};
    use resvg::usvg::roxmltree::Document;
    use resvg::usvg::{self, Group, Node, Tree};
    use svg2pdf::{ConversionOptions, PageOptions};
    use treewright::{Code, Error, Result};

    use super::pdf::with_fixed_order;

    /// Pixels of a PNG per pixel of the SVG, so that text is sharp on dense screens and in print.
    const SCALE: f32 = 2.0;

    /// The longest side of a PNG: many programs count pixels in 16 bits with a sign.
    const MAX_SIDE: f32 = 32_767.0;

    /// The most pixels of a PNG: a quarter of a gigabyte while it is drawn.
    const MAX_PIXELS: f32 = 64e6;

    /// The longest side of a page in PDF viewers, in points of 1/72 inch.
    const MAX_POINTS: f32 = 14_400.0;

    /// Pixels of an SVG per inch, as CSS has them.
    const PIXELS_PER_INCH: f32 = 96.0;

    /// Families to use for sans serif if the system names none that is installed.
    const SANS_SERIF: [&str; 6] =
        ["Noto Sans", "DejaVu Sans", "Liberation Sans", "Helvetica Neue", "Helvetica", "Arial"];

    pub fn check() -> Result<()> {
        if fonts().is_empty() {
            let message = "no font is installed, so the words of a PNG or PDF could not be shown: install one (such \
                           as Noto Sans or DejaVu Sans), or write SVG or HTML";
            return Err(Error::new(Code::NoFont, message));
        }
        Ok(())
    }

    pub fn png(svg: &str) -> Result<Vec<u8>> {
        let tree = tree(svg, |width, height| {
            let (width, height) = (width * SCALE, height * SCALE);
            let fits = width.max(height) <= MAX_SIDE && width * height <= MAX_PIXELS;
            let max = format!("{MAX_SIDE} a side and {} million in all", MAX_PIXELS / 1e6);
            if fits { Ok(()) } else { Err(format!("a PNG of {width} x {height} pixels (at most {max})")) }
        })?;
        let size = tree.size();
        let (width, height) = ((size.width() * SCALE).ceil() as u32, (size.height() * SCALE).ceil() as u32);
        let mut pixmap = Pixmap::new(width, height).ok_or_else(|| broken("it has no size"))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
        pixmap.encode_png().map_err(|error| broken(&error.to_string()))
    }

    pub fn pdf(svg: &str) -> Result<Vec<u8>> {
        let tree = tree(svg, |width, height| {
            let points = |pixels: f32| pixels * 72.0 / PIXELS_PER_INCH;
            let (width, height) = (points(width), points(height));
            let fits = width.max(height) <= MAX_POINTS;
            if fits {
                Ok(())
            } else {
                Err(format!("a PDF page of {width} x {height} points (at most {MAX_POINTS} a side)"))
            }
        })?;
        let pdf = svg2pdf::to_pdf(&tree, ConversionOptions::default(), PageOptions { dpi: PIXELS_PER_INCH })
            .map_err(|error| broken(&error.to_string()))?;
        Ok(with_fixed_order(&pdf).unwrap_or(pdf))
    }

    /// The fonts of the system, loaded once.
    fn fonts() -> &'static Arc<Database> {
        static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
        FONTS.get_or_init(|| {
            let mut fonts = Database::new();
            fonts.load_system_fonts();
            // What the system calls sans serif may be missing, and text of a missing family would vanish.
            if let Some(family) = sans_serif(&fonts) {
                fonts.set_sans_serif_family(family.clone());
                fonts.set_serif_family(family);
            }
            Arc::new(fonts)
        })
    }

    /// The best family for text that is installed.
    fn sans_serif(fonts: &Database) -> Option<String> {
        let named = fonts.family_name(&Family::SansSerif);
        let is_installed = |family: &&str| {
            fonts.query(&Query { families: &[Family::Name(family)], ..Query::default() }).is_some()
        };
        if let Some(family) = [named].into_iter().chain(SANS_SERIF).find(is_installed) {
            return Some(family.to_owned());
        }
        let is_upright =
            |face: &&usvg::fontdb::FaceInfo| face.style == Style::Normal && face.weight == Weight::NORMAL;
        let face = fonts.faces().find(is_upright).or_else(|| fonts.faces().next())?;
        face.families.first().map(|(name, _)| name.clone())
    }

    /// Reads a picture that has a good size, with all of its text.
    fn tree(svg: &str, check_size: impl Fn(f32, f32) -> Result<(), String>) -> Result<Tree> {
        check()?;
        let svg = with_plain_anchors(svg);
        let document = Document::parse(&svg).map_err(|error| broken(&error.to_string()))?;
        // Before text is set in type, which takes long where there is much of it.
        let side = |name| document.root_element().attribute(name).and_then(|side| side.parse().ok());
        if let (Some(width), Some(height)) = (side("width"), side("height")) {
            check_size(width, height).map_err(|what| {
                let message = format!("it would be {what}: write SVG or HTML instead");
                Error::new(Code::TooLargeToDraw, message)
            })?;
        }
        let options = usvg::Options { fontdb: Arc::clone(fonts()), ..usvg::Options::default() };
        let tree = Tree::from_xmltree(&document, &options).map_err(|error| broken(&error.to_string()))?;
        let mut set = Typeset::default();
        set.visit(tree.root());
        if let Some(missing) = set.missing {
            return Err(unshown(&missing));
        }
        // Text without letters and digits may consist of characters that show nothing.
        let has_words = |text: &str| text.contains(char::is_alphanumeric);
        let texts =
            document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")));
        let texts: Vec<&str> = texts.filter_map(|node| node.text()).filter(|text| has_words(text)).collect();
        match texts.get(set.n_with_words) {
            Some(text) => Err(unshown(text)),
            None => Ok(tree),
        }
    }

    /// What became of the text of a picture.
    #[derive(Default)]
    struct Typeset {
        /// The first text that cannot be shown.
        missing: Option<String>,
        /// How many texts with letters or digits have glyphs.
        n_with_words: usize,
    }

    impl Typeset {
        fn visit(&mut self, group: &Group) {
            for node in group.children() {
                match node {
                    Node::Group(group) => self.visit(group),
                    Node::Text(text) => self.visit_text(text),
                    Node::Path(_) | Node::Image(_) => {}
                }
            }
        }

        fn visit_text(&mut self, text: &usvg::Text) {
            let glyphs = || text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
            // Glyph 0 is the box that fonts show for characters they do not have.
            let missing = glyphs().find(|glyph| glyph.id.0 == 0).map(|glyph| glyph.text.clone());
            // Bitmaps, as old fonts for emoji have them, are not drawn.
            let bitmap =
                || has_image(text.flattened()).then(|| glyphs().map(|glyph| glyph.text.as_str()).collect());
            self.missing = self.missing.take().or(missing).or_else(bitmap);
            let has_words = glyphs().any(|glyph| glyph.text.contains(char::is_alphanumeric));
            self.n_with_words += usize::from(has_words);
        }
    }

    fn has_image(group: &Group) -> bool {
        group.children().iter().any(|node| match node {
            Node::Group(group) => has_image(group),
            Node::Image(_) => true,
            Node::Path(_) | Node::Text(_) => false,
        })
    }

    /// The same picture with anchors as usvg takes them: `start` is the left for it, in every script.
    fn with_plain_anchors(svg: &str) -> String {
        svg.replace(r#" text-anchor="middle" direction="rtl""#, r#" text-anchor="middle""#)
            .replace(r#" text-anchor="end" direction="rtl""#, "")
            .replace(r#" direction="rtl""#, r#" text-anchor="end""#)
    }

    fn unshown(text: &str) -> Error {
        let points: Vec<String> = text.chars().map(|c| format!("U+{:04X}", c as u32)).collect();
        let message = format!(
            "no installed font can show \"{text}\" ({}) in a PNG or PDF: install a font for it (Noto has one for nearly \
             every script), or write SVG or HTML",
            points.join(" ")
        );
        Error::new(Code::NoFont, message)
    }

    fn broken(what: &str) -> Error {
        Error::new(Code::Unwritable, format!("the drawing cannot be made into a PNG or PDF: {what}"))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn anchors_of_text_from_right_to_left_are_turned_round() {
            let text = |attributes: &str| with_plain_anchors(&format!("<text{attributes}>x</text>"));
            assert_eq!(text(r#" y="1" direction="rtl""#), r#"<text y="1" text-anchor="end">x</text>"#);
            assert_eq!(text(r#" text-anchor="end" direction="rtl""#), "<text>x</text>");
            let middle = r#" text-anchor="middle""#;
            assert_eq!(text(&format!(r#"{middle} direction="rtl""#)), format!("<text{middle}>x</text>"));
            assert_eq!(text(r#" text-anchor="end""#), r#"<text text-anchor="end">x</text>"#);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_says_the_kind() {
        let kind = |name: &str| Picture::from_path(Path::new(name));
        assert_eq!(kind("a.svg"), Some(Picture::Svg));
        assert_eq!(kind("a.b/x.PNG"), Some(Picture::Png));
        assert_eq!(kind("tree-{}.pdf"), Some(Picture::Pdf));
        assert!(["x", "x.jpg", "x.png.gz", "-", ".png"].iter().all(|name| kind(name).is_none()));
    }
}
