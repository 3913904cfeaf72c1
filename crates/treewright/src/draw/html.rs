//! Drawings as one HTML page: every sentence with its own anchor, a search box, no network.
//!
//! A page is written piece by piece, so that a large treebank never stands in memory: [`html_head`], one
//! [`html_section`] per sentence, [`html_tail`].

use crate::draw::Theme;
use crate::draw::layout::Layout;
use crate::draw::svg::{Escaped, picture, style};
use crate::error::Result;

/// The colours of the page around the drawings.
fn page_colours(theme: Theme) -> String {
    let light = "--page:#fff;--text:#1b1f24;--rule:#dde2e8;--quiet:#66707c";
    let dark = "--page:#16191d;--text:#e8eaed;--rule:#30363d;--quiet:#9aa4b0";
    match theme {
        Theme::Auto => format!(
            ":root{{color-scheme:light dark;{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        ),
        Theme::Light => format!(":root{{color-scheme:light;{light}}}"),
        Theme::Dark => format!(":root{{color-scheme:dark;{dark}}}"),
    }
}

const PAGE_STYLE: &str = "\
body{margin:0 auto;padding:0 1.2rem 3rem;background:var(--page);color:var(--text);\
font:16px/1.5 system-ui,-apple-system,'Segoe UI','Noto Sans',Arial,sans-serif}\
header{position:sticky;top:0;background:var(--page);padding:.8rem 0;border-bottom:1px solid var(--rule);z-index:1;\
display:flex;gap:1rem;align-items:baseline;flex-wrap:wrap}\
h1{font-size:1.1rem;margin:0}h2{font-size:.85rem;font-weight:500;margin:0;color:var(--quiet)}\
h2 a{color:inherit;text-decoration:none}h2 a:hover,h2 a:focus{text-decoration:underline}\
input{font:inherit;padding:.2rem .6rem;min-width:16rem;flex:0 1 24rem}output{color:var(--quiet);font-size:.85rem}\
section{padding:1rem 0;border-bottom:1px solid var(--rule);scroll-margin-top:4rem}section p{margin:.2rem 0 .6rem}\
section>div{overflow-x:auto}svg{display:block}@media print{header{display:none}section{break-inside:avoid}}";

const SCRIPT: &str = "\
const box=document.querySelector('input'),out=document.querySelector('output'),all=[...document.querySelectorAll('section')];\
const find=()=>{const q=box.value.trim().toLowerCase();let n=0;for(const s of all){\
const hit=!q||s.textContent.toLowerCase().includes(q);s.hidden=!hit;n+=hit}\
out.textContent=q?n+' of '+all.length+' sentences':all.length+(all.length==1?' sentence':' sentences')};\
box.addEventListener('input',find);find();";

/// The beginning of a page.
pub fn html_head(title: &str, theme: Theme) -> String {
    let (title, colours, style) = (Escaped(title), page_colours(theme), style(theme));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n\
         <style>{colours}{PAGE_STYLE}</style>\n<style>{style}</style>\n</head>\n<body>\n<header><h1>{title}</h1>\
         <input type=\"search\" placeholder=\"Find words, tags, labels\" aria-label=\"Find sentences\">\
         <output></output></header>\n<main>\n"
    )
}

/// One sentence of a page, with the anchor `#sNUMBER`.
///
/// # Errors
/// When the drawing would be too large.
pub fn html_section(layout: &Layout, number: usize) -> Result<String> {
    let direction = if layout.is_right_to_left() { "rtl" } else { "ltr" };
    let name =
        if layout.title().is_empty() { String::new() } else { format!(" · {}", Escaped(layout.title())) };
    Ok(format!(
        "<section id=\"s{number}\">\n<h2><a href=\"#s{number}\">{number}{name}</a></h2>\n\
         <p dir=\"{direction}\">{}</p>\n<div dir=\"{direction}\">\n{}</div>\n</section>\n",
        Escaped(&layout.text()),
        picture(layout, false)?
    ))
}

/// The end of a page.
pub fn html_tail() -> String {
    format!("</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
}
