//! The Arrow schema that programs keep in Parquet files (`ARROW:schema`), with columns of texts added.
//!
//! It says more than the columns of Parquet do (dictionaries, time zones, large strings), and readers refuse a file in
//! which it has other columns. It is a FlatBuffer in base64, in which tables refer to what follows them. So new tables are put
//! before the old bytes and refer to the old fields there: none of those needs to be understood or moved.

/// The kind of message that holds a schema.
const SCHEMA: u8 = 1;
/// The type of texts.
const UTF8: u8 = 5;
/// Where an encapsulated message begins.
const CONTINUATION: u32 = u32::MAX;

/// The schema with columns of texts of these names; `None` if it cannot be read.
pub(super) fn with_texts(schema: &str, names: &[String]) -> Option<String> {
    let message = from_base64(schema)?;
    // The first writers had no mark before the size.
    let start = if u32::from_le_bytes(message.get(..4)?.try_into().ok()?) == CONTINUATION { 8 } else { 4 };
    let mut edited = edited(message.get(start..)?, names)?;
    edited.resize(edited.len().next_multiple_of(8), 0);
    let size = u32::try_from(edited.len()).ok()?;
    Some(to_base64(&[&CONTINUATION.to_le_bytes(), &size.to_le_bytes(), &edited[..]].concat()))
}

/// Bytes of a FlatBuffer that are read.
#[derive(Clone, Copy)]
struct Old<'a>(&'a [u8]);

impl Old<'_> {
    fn number<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    /// What the offset at this place refers to.
    fn target(self, at: usize) -> Option<usize> {
        at.checked_add(u32::from_le_bytes(self.number(at)?) as usize).filter(|&target| target < self.0.len())
    }

    /// The place of a field of a table; `None` if it is not there.
    fn field(self, table: usize, slot: usize) -> Option<usize> {
        let back = i32::from_le_bytes(self.number(table)?);
        let vtable = usize::try_from(i64::try_from(table).ok()? - i64::from(back)).ok()?;
        let size = u16::from_le_bytes(self.number(vtable)?);
        let entry = 4 + 2 * slot;
        let offset =
            if entry < usize::from(size) { u16::from_le_bytes(self.number(vtable + entry)?) } else { 0 };
        (offset > 0).then(|| table + usize::from(offset))
    }
}

/// A field of a table that is written.
enum Field {
    None,
    Byte(u8),
    Short(i16),
    Long(i64),
    /// A reference, which is filled in later.
    Reference,
}

/// Bytes of a FlatBuffer that are written.
#[derive(Default)]
struct New(Vec<u8>);

impl New {
    fn align(&mut self, remainder: usize) {
        while self.0.len() % 8 != remainder {
            self.0.push(0);
        }
    }

    /// Writes a table and returns its place. Every field has eight bytes, so that all are aligned; the first begins four
    /// bytes after the table does.
    fn table(&mut self, fields: &[Field]) -> usize {
        self.align(0);
        let vtable = self.0.len();
        self.0.extend_from_slice(&(4 + 2 * fields.len() as u16).to_le_bytes());
        self.0.extend_from_slice(&(4 + 8 * fields.len() as u16).to_le_bytes());
        for (at, field) in fields.iter().enumerate() {
            let offset = if matches!(field, Field::None) { 0 } else { 4 + 8 * at as u16 };
            self.0.extend_from_slice(&offset.to_le_bytes());
        }
        self.align(4);
        let table = self.0.len();
        self.0.extend_from_slice(&((table - vtable) as i32).to_le_bytes());
        for field in fields {
            let number = match *field {
                Field::None | Field::Reference => 0,
                Field::Byte(number) => i64::from(number),
                Field::Short(number) => i64::from(number as u16),
                Field::Long(number) => number,
            };
            self.0.extend_from_slice(&number.to_le_bytes());
        }
        table
    }

    /// Has a field of a table refer to a place that follows it.
    fn refer(&mut self, table: usize, slot: usize, target: usize) {
        self.set(table + 4 + 8 * slot, target);
    }

    fn set(&mut self, at: usize, target: usize) {
        self.0[at..at + 4].copy_from_slice(&((target - at) as u32).to_le_bytes());
    }

    /// Writes a vector of bytes or of references, which begins with its length, and returns its place.
    fn vector(&mut self, length: usize, bytes: &[u8]) -> usize {
        self.align(4);
        let vector = self.0.len();
        self.0.extend_from_slice(&(length as u32).to_le_bytes());
        self.0.extend_from_slice(bytes);
        vector
    }
}

fn edited(message: &[u8], names: &[String]) -> Option<Vec<u8>> {
    let old = Old(message);
    let root = old.target(0)?;
    let [kind] = old.number(old.field(root, 1)?)?;
    let schema = old.target(old.field(root, 2)?).filter(|_| kind == SCHEMA)?;
    let short = |table, slot| Some(i16::from_le_bytes(old.number(old.field(table, slot)?)?));
    let reference = |table, slot| old.field(table, slot).and_then(|at| old.target(at));
    let fields = reference(schema, 1)?;
    let n_fields = u32::from_le_bytes(old.number(fields)?) as usize;
    let fields: Vec<usize> = (0..n_fields).map(|i| old.target(fields + 4 + 4 * i)).collect::<Option<_>>()?;

    let mut new = New(vec![0; 8]);
    let kept = |is_there: bool| if is_there { Field::Reference } else { Field::None };
    let new_root = new.table(&[
        Field::Short(short(root, 0).unwrap_or_default()),
        Field::Byte(SCHEMA),
        Field::Reference,
        Field::Long(0),
        kept(reference(root, 4).is_some()),
    ]);
    new.set(0, new_root);
    let new_schema = new.table(&[
        Field::Short(short(schema, 0).unwrap_or_default()),
        Field::Reference,
        kept(reference(schema, 2).is_some()),
        kept(reference(schema, 3).is_some()),
    ]);
    new.refer(new_root, 2, new_schema);
    let n_all = n_fields + names.len();
    let all = new.vector(n_all, &vec![0; 4 * n_all]);
    new.refer(new_schema, 1, all);
    for (i, name) in names.iter().enumerate() {
        // Name, whether it may be missing, the type, no dictionary, nothing inside.
        let field = new.table(&[
            Field::Reference,
            Field::Byte(1),
            Field::Byte(UTF8),
            Field::Reference,
            Field::None,
            Field::Reference,
        ]);
        new.set(all + 4 + 4 * (n_fields + i), field);
        let bytes = [name.as_bytes(), &[0]].concat();
        let name = new.vector(name.len(), &bytes);
        new.refer(field, 0, name);
        let utf8 = new.table(&[]);
        new.refer(field, 3, utf8);
        let nothing = new.vector(0, &[]);
        new.refer(field, 5, nothing);
    }
    new.align(0);
    let moved = new.0.len();
    for (i, field) in fields.into_iter().enumerate() {
        new.set(all + 4 + 4 * i, moved + field);
    }
    for (table, new_table, slot) in [(root, new_root, 4), (schema, new_schema, 2), (schema, new_schema, 3)] {
        if let Some(target) = reference(table, slot) {
            new.refer(new_table, slot, moved + target);
        }
    }
    new.0.extend_from_slice(message);
    Some(new.0)
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, i| number << 8 | u32::from(group.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * i)) as usize % 64];
            text.push(if i <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_ascii().trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.as_bytes().chunks(4) {
        let digit = |byte: &u8| DIGITS.iter().position(|other| other == byte);
        let digits = group.iter().map(digit).collect::<Option<Vec<_>>>()?;
        let number = (0..4).fold(0, |number, i| number << 6 | digits.get(i).copied().unwrap_or(0));
        let whole = (number as u32).to_be_bytes();
        bytes.extend_from_slice(&whole[1..group.len().max(1)]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_there_and_back() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(to_base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text).expect("base64"), bytes.as_bytes());
        }
        assert_eq!(from_base64("not base64!"), None);
    }

    /// Of pyarrow, for `pa.schema([("id", pa.int64()), ("text", pa.large_string())], metadata={"a": "b"})`.
    const SAMPLE: &str = include_str!("../../../tests/it/data/arrow-schema.base64");

    /// The names of the fields, as a reader finds them.
    fn names(schema: &str) -> Vec<String> {
        let message = from_base64(schema).expect("base64");
        let old = Old(&message[8..]);
        let schema =
            old.target(old.field(old.target(0).expect("a root"), 2).expect("a header")).expect("a schema");
        let fields = old.target(old.field(schema, 1).expect("fields")).expect("fields");
        let n_fields = u32::from_le_bytes(old.number(fields).expect("a length"));
        let name = |i: u32| {
            let field = old.target(fields + 4 + 4 * i as usize).expect("a field");
            let name = old.target(old.field(field, 0).expect("a name")).expect("a name");
            let length = u32::from_le_bytes(old.number(name).expect("a length")) as usize;
            String::from_utf8(old.0[name + 4..name + 4 + length].to_vec()).expect("UTF-8")
        };
        (0..n_fields).map(name).collect()
    }

    #[test]
    fn columns_are_added_again_and_again() {
        let added = ["parse".to_owned(), "parse_error".to_owned()];
        let once = with_texts(SAMPLE, &added).expect("a schema");
        assert_eq!(names(&once), ["id", "text", "parse", "parse_error"]);
        let twice = with_texts(&once, &["more".to_owned()]).expect("a schema");
        assert_eq!(names(&twice), ["id", "text", "parse", "parse_error", "more"]);
    }

    #[test]
    fn damaged_schemas_are_no_schemas() {
        let whole = from_base64(SAMPLE).expect("base64");
        for at in 0..whole.len() {
            // Whatever comes of it, it must not panic.
            with_texts(&to_base64(&whole[..at]), &["more".to_owned()]);
            for value in [0, 1, 0x7F, 0xFF] {
                let mut edited = whole.clone();
                edited[at] = value;
                with_texts(&to_base64(&edited), &["more".to_owned()]);
            }
        }
        assert_eq!(with_texts("", &[]), None);
    }
}
