//! The recipes of a new connection.

use super::check;
use crate::EngineError;
use mate_model::verification::Recipe;

/// The most recipes of one connection.
const MANY: usize = 20;

/// Refuses recipes that cannot be used. `fields` are the arguments that are recorded, as `TOOL.FIELD`.
pub(super) fn check(recipes: &[Recipe], fields: &[String]) -> Result<(), EngineError> {
    let wrong = |index: usize, why: String| EngineError::invalid("verify", format!("[{index}].{why}"));
    if recipes.len() > MANY {
        return Err(EngineError::invalid("verify", "has more than 20 recipes"));
    }
    for (index, recipe) in recipes.iter().enumerate() {
        check::globs(&recipe.tools).map_err(|error| wrong(index, error.to_string()))?;
        let may_use = |name: &str| {
            let tools = fields.iter().filter_map(|field| field.strip_suffix(name)?.strip_suffix('.'));
            tools
                .into_iter()
                .any(|tool| tool == "*" || recipe.tools.iter().any(|glob| mate_guard::matches(glob, tool)))
        };
        recipe.check(&may_use).map_err(|bad| wrong(index, bad.to_string()))?;
    }
    Ok(())
}
