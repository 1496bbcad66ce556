//! What every list takes.

use clap::Args;

/// One page of a list.
#[derive(Args, Clone, Debug)]
pub(crate) struct PageArgs {
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Go on where the page before ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl PageArgs {
    /// The page as the interface takes it, with the filters that are given.
    pub(crate) fn query<'a>(&self, filters: &[(&'a str, Option<&str>)]) -> Vec<(&'a str, String)> {
        let mut query = vec![("limit", self.limit.to_string())];
        query.extend(self.cursor.iter().map(|cursor| ("cursor", cursor.clone())));
        query.extend(filters.iter().filter_map(|(name, value)| Some((*name, (*value)?.to_owned()))));
        query
    }
}
