//! Settings for training that were found good, by name.

/// Every recipe: its name and its settings, as TOML.
const RECIPES: [(&str, &str); 6] = [
    ("fast-dependencies", include_str!("../recipes/fast-dependencies.toml")),
    ("dependencies", include_str!("../recipes/dependencies.toml")),
    ("non-projective-dependencies", include_str!("../recipes/non-projective-dependencies.toml")),
    ("constituents", include_str!("../recipes/constituents.toml")),
    ("discontinuous", include_str!("../recipes/discontinuous.toml")),
    ("paper-004", include_str!("../recipes/paper-004.toml")),
];

/// Their names.
pub fn names() -> [&'static str; RECIPES.len()] {
    RECIPES.map(|(name, _)| name)
}

/// The settings of a recipe.
pub fn settings(name: &str) -> Option<&'static str> {
    RECIPES.iter().find(|recipe| recipe.0 == name).map(|recipe| recipe.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use treewright::train::TrainConfig;

    #[test]
    fn every_recipe_can_be_followed() {
        for (name, text) in RECIPES {
            let config: TrainConfig = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            config.check().unwrap_or_else(|error| panic!("{name}: {error}"));
            // A system that is not named would silently be the default.
            assert!(text.contains("system = "), "{name}");
        }
    }
}
