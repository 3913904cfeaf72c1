//! Enums whose values have names, on the command line and in messages.

/// `Display` and `FromStr` for a type with `ALL` and `name`; an unknown name is answered with the list of known ones.
macro_rules! by_name {
    ($type:ty, $what:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|value| value.name() == name).ok_or_else(|| {
                    let known: Vec<&str> = Self::ALL.iter().map(|value| value.name()).collect();
                    format!(concat!("there is no ", $what, " {:?}; there are {}"), name, known.join(", "))
                })
            }
        }
    };
}

pub(crate) use by_name;
