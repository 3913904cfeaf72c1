//! The parts of a PDF in an order that is the same in every run. svg2pdf writes fonts in the order of a hash map.

/// The same document with objects numbered and written as they are referred to, from its trailer on. `None` if it is
/// not laid out as svg2pdf lays it out: one table of objects, at the end.
pub fn with_fixed_order(pdf: &[u8]) -> Option<Vec<u8>> {
    let table = number_after(pdf, b"startxref\n")?;
    let trailer = table + find(pdf.get(table..)?, b"trailer\n")?;
    let end = trailer + find(&pdf[trailer..], b"startxref\n")?;
    // Two lines of heading, then 20 bytes for each object; the first entry is for no object.
    let entries = pdf[table..trailer].splitn(3, |&byte| byte == b'\n').nth(2)?.chunks(20);
    let offsets: Vec<usize> = entries.map(|entry| number(entry.get(..10)?)).collect::<Option<_>>()?;
    let first = *offsets.iter().skip(1).min()?;

    let mut order = Vec::new();
    let trailer = with_new_numbers(&pdf[trailer..end], &mut order)?;
    let mut out = pdf.get(..first)?.to_vec();
    let mut places = Vec::new();
    // An object may add others to the order.
    while let Some(&old) = order.get(places.len()) {
        let start = *offsets.get(old)?;
        let end = offsets.iter().copied().filter(|&offset| offset > start).min().unwrap_or(table);
        let object = pdf.get(start..end)?;
        let object = &object[find(object, b" 0 obj")?..];
        let (head, stream) = object.split_at(find(object, b"\nstream\n").unwrap_or(object.len()));
        places.push(out.len());
        out.extend(places.len().to_string().bytes());
        out.extend(with_new_numbers(&with_sorted_fonts(head), &mut order)?);
        out.extend(stream);
    }
    // Objects that nothing refers to would be lost, and the size in the trailer wrong.
    if places.len() + 1 != offsets.len() {
        return None;
    }
    let table = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f\r\n", places.len() + 1).bytes());
    out.extend(places.iter().flat_map(|place| format!("{place:010} 00000 n\r\n").into_bytes()));
    out.extend(trailer);
    out.extend(format!("startxref\n{table}\n%%EOF").bytes());
    Some(out)
}

/// A dictionary with its fonts sorted by name: `/fo0`, `/fo1` and so on, on lines of their own.
fn with_sorted_fonts(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let is_font = |line: &[u8]| line.trim_ascii_start().starts_with(b"/fo");
    for run in lines.chunk_by_mut(|a, b| is_font(a) && is_font(b)) {
        run.sort_unstable();
    }
    lines.join(&b'\n')
}

/// A text with every reference, such as `12 0 R`, to the place of its object in the order, where new ones are added.
fn with_new_numbers(mut text: &[u8], order: &mut Vec<usize>) -> Option<Vec<u8>> {
    const MARK: &[u8] = b" 0 R";
    let mut out = Vec::new();
    while let Some(at) = find(text, MARK) {
        let n_digits = text[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (before, digits) = text[..at].split_at(at - n_digits);
        let old = number(digits)?;
        let place = order.iter().position(|&known| known == old).unwrap_or(order.len());
        if place == order.len() {
            order.push(old);
        }
        out.extend(before);
        out.extend((place + 1).to_string().bytes());
        out.extend(MARK);
        text = &text[at + MARK.len()..];
    }
    out.extend(text);
    Some(out)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The number after the last of these marks.
fn number_after(text: &[u8], mark: &[u8]) -> Option<usize> {
    let at = text.windows(mark.len()).rposition(|window| window == mark)? + mark.len();
    number(text[at..].split(|byte| !byte.is_ascii_digit()).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document of these objects, in this order.
    fn document(objects: &[(usize, &str)]) -> Vec<u8> {
        let mut out = b"%PDF-1.7\n\n".to_vec();
        let mut places = vec![0; objects.len()];
        for (number, text) in objects {
            places[number - 1] = out.len();
            out.extend(format!("{number} 0 obj\n{text}\nendobj\n\n").bytes());
        }
        let (table, size) = (out.len(), objects.len() + 1);
        out.extend(format!("xref\n0 {size}\n0000000000 65535 f\r\n").bytes());
        out.extend(places.iter().flat_map(|place| format!("{place:010} 00000 n\r\n").into_bytes()));
        let root = objects.iter().find(|(_, text)| text.contains("Root")).expect("a root").0;
        out.extend(
            format!("trailer\n<< /Size {size} /Root {root} 0 R >>\nstartxref\n{table}\n%%EOF").bytes(),
        );
        out
    }

    #[test]
    fn the_order_of_objects_does_not_matter() {
        let stream = "<< /Length 5 >>\nstream\n2 0 R\nendstream";
        let sorted = document(&[(1, "(Root) [2 0 R 3 0 R]"), (2, "(a) 3 0 R"), (3, stream)]);
        let shuffled = document(&[(2, stream), (1, "(a) 2 0 R"), (3, "(Root) [1 0 R 2 0 R]")]);
        assert_eq!(with_fixed_order(&sorted).as_ref(), Some(&sorted));
        assert_eq!(with_fixed_order(&shuffled), Some(sorted));
    }

    #[test]
    fn fonts_are_sorted_by_name() {
        let sorted = document(&[(1, "(Root)\n  /fo0 2 0 R\n  /fo1 3 0 R"), (2, "(a)"), (3, "(b)")]);
        let shuffled = document(&[(1, "(b)"), (2, "(Root)\n  /fo1 1 0 R\n  /fo0 3 0 R"), (3, "(a)")]);
        assert_eq!(with_fixed_order(&shuffled), Some(sorted));
    }

    #[test]
    fn other_documents_are_left_alone() {
        let unused = document(&[(1, "(Root)"), (2, "(a)")]);
        let unknown = document(&[(1, "(Root) 7 0 R")]);
        for pdf in [&unused[..], &unknown, &unknown[..40], b"", b"%PDF", b"startxref\n999999\n"] {
            assert_eq!(with_fixed_order(pdf), None);
        }
    }
}
