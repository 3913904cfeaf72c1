//! Recipes: settings that were found good, by name.

use crate::config::TrainConfig;

/// Settings that were found good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Its name on the command line.
    pub name: &'static str,
    /// The settings as TOML; the first line is a comment that says what they are for. A key of its own is `needs-encoder`.
    pub toml: &'static str,
}

/// What a recipe's TOML holds.
struct Parts {
    needs_encoder: bool,
    config: TrainConfig,
}

impl Parts {
    fn of(mut table: toml::Table) -> Result<Self, toml::de::Error> {
        let needs_encoder = table.remove("needs-encoder").map(toml::Value::try_into).transpose()?;
        Ok(Parts { needs_encoder: needs_encoder.unwrap_or(false), config: table.try_into()? })
    }
}

macro_rules! recipes {
    ($($name:literal),* $(,)?) => {
        &[$(Recipe { name: $name, toml: include_str!(concat!("recipes/", $name, ".toml")) }),*]
    };
}

impl Recipe {
    /// Every recipe.
    pub const ALL: &[Recipe] = recipes![
        "fast-dependencies",
        "dependencies",
        "non-projective-dependencies",
        "constituents",
        "headed-constituents",
        "discontinuous",
        "paper-000-in-order",
        "paper-000-top-down",
        "paper-001",
        "paper-004",
        "paper-003",
        "neural-dependencies",
        "neural-constituents",
        "neural-discontinuous",
        "accurate-dependencies",
        "accurate-constituents",
    ];

    /// The recipe of that name.
    pub fn named(name: &str) -> Option<Recipe> {
        Self::ALL.iter().copied().find(|recipe| recipe.name == name)
    }

    /// Its settings.
    pub fn config(&self) -> TrainConfig {
        self.read().config
    }

    /// Is it for a pre-trained encoder, which is to be given with it?
    pub fn needs_encoder(&self) -> bool {
        self.read().needs_encoder
    }

    fn read(&self) -> Parts {
        self.toml.parse().and_then(Parts::of).expect("every recipe is read by a test")
    }

    /// What it is for, in a sentence.
    pub fn about(&self) -> &'static str {
        self.toml.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_can_be_followed() {
        for recipe in Recipe::ALL {
            recipe.config().check().unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
            // A system that is not named would silently be the default.
            assert!(recipe.toml.contains("system = "), "{}", recipe.name);
            assert!(recipe.about().ends_with('.'), "{}", recipe.name);
            assert_eq!(Recipe::named(recipe.name), Some(*recipe));
            assert_eq!(recipe.needs_encoder(), recipe.about().contains("--encoder"), "{}", recipe.name);
        }
    }
}
