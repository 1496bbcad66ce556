//! Values in place of `${...}`: from the environment, or as given for VS Code's inputs.

use mate_server::wire::SecretText;
use std::{collections::BTreeMap, env};
use zeroize::Zeroizing;

/// Where values come from.
pub(super) struct Values {
    /// Given with `--input`.
    pub(super) given: BTreeMap<String, SecretText>,
    /// What the file itself says of its inputs.
    pub(super) inputs: BTreeMap<String, Option<String>>,
}

/// A text with its values.
pub(super) struct Filled {
    pub(super) text: Zeroizing<String>,
    /// It holds a value that may be a secret.
    pub(super) secret: bool,
}

impl Values {
    /// Fills a text.
    ///
    /// # Errors
    /// What has no value, and what to do.
    pub(super) fn fill(&self, text: &str) -> Result<Filled, String> {
        let mut filled = Filled { text: Zeroizing::default(), secret: false };
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after.split_once('}').ok_or("a `${` has no `}`")?;
            filled.text.push_str(before);
            let (value, secret) = self.value(name)?;
            filled.text.push_str(&value);
            filled.secret |= secret;
            rest = behind;
        }
        filled.text.push_str(rest);
        Ok(filled)
    }

    /// A value, and whether it may be a secret.
    fn value(&self, name: &str) -> Result<(Zeroizing<String>, bool), String> {
        let plain = |text: String| Ok((Zeroizing::new(text), false));
        match name {
            "HOME" | "userHome" | "env:HOME" => return plain(env::var("HOME").unwrap_or_default()),
            "/" | "pathSeparator" => return plain("/".to_owned()),
            _ => {}
        }
        if let Some(id) = name.strip_prefix("input:") {
            return self.input(id);
        }
        if name.starts_with("workspaceFolder") || name.starts_with("command:") || name.starts_with("config:")
        {
            return Err(format!(
                "`${{{name}}}` is known to the editor alone: programs start in the session's workspace; write a path"
            ));
        }
        let variable = name.strip_prefix("env:").unwrap_or(name);
        let (variable, default) = match variable.split_once(":-") {
            Some((variable, default)) => (variable, Some(default)),
            None => (variable, None),
        };
        match (env::var(variable), default) {
            (Ok(value), _) => Ok((Zeroizing::new(value), true)),
            (Err(_), Some(default)) => plain(default.to_owned()),
            (Err(_), None) => {
                Err(format!("the environment has no variable {variable}: set it and import again"))
            }
        }
    }

    fn input(&self, id: &str) -> Result<(Zeroizing<String>, bool), String> {
        if let Some(given) = self.given.get(id) {
            return Ok((Zeroizing::new(given.expose().to_owned()), true));
        }
        let upper: String = id
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
            .collect();
        for name in [id, &upper] {
            if let Ok(value) = env::var(name) {
                return Ok((Zeroizing::new(value), true));
            }
        }
        match self.inputs.get(id) {
            Some(Some(default)) => Ok((Zeroizing::new(default.clone()), false)),
            Some(None) | None => Err(format!(
                "the input {id} has no value: give it with --input {id}=@FILE, or set {upper} in the environment"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        Values {
            given: BTreeMap::from([("token".to_owned(), SecretText::new("hunter2".to_owned()))]),
            inputs: BTreeMap::from([("region".to_owned(), Some("eu".to_owned())), ("pass".to_owned(), None)]),
        }
    }

    #[test]
    fn texts_are_filled() {
        let filled = |text: &str| values().fill(text).map(|filled| (filled.text.to_string(), filled.secret));
        assert_eq!(filled("plain $x {y}"), Ok(("plain $x {y}".to_owned(), false)));
        assert_eq!(filled("Bearer ${input:token}!"), Ok(("Bearer hunter2!".to_owned(), true)));
        assert_eq!(filled("${input:region}${/}"), Ok(("eu/".to_owned(), false)));
        assert_eq!(filled("${NO_SUCH_VARIABLE_HERE:-there}"), Ok(("there".to_owned(), false)));
        let path = env::var("PATH").expect("a path");
        assert_eq!(filled("${PATH}${env:PATH}"), Ok((format!("{path}{path}"), true)));
    }

    #[test]
    fn what_has_no_value_is_told_with_the_way_out() {
        for (text, part) in [
            ("${NO_SUCH_VARIABLE_HERE}", "NO_SUCH_VARIABLE_HERE: set it"),
            ("${env:NO_SUCH_VARIABLE_HERE}", "NO_SUCH_VARIABLE_HERE: set it"),
            ("${input:pass}", "--input pass=@FILE"),
            ("${input:other-one}", "OTHER_ONE"),
            ("${workspaceFolder}/x", "the session's workspace"),
            ("${open", "has no"),
        ] {
            let why = values().fill(text).err().expect(text);
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
