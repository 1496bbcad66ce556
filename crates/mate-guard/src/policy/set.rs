//! A session's policies: its project's grants as links of the template, and the administrators' own statements.

use super::{
    TEMPLATE,
    check::{checked, statements},
    decide::Known,
    names::{Kind, uid},
};
use cedar_policy::{Authorizer, Effect, Policy, PolicyId, SlotId, Template};
use mate_model::{GrantId, records::Grant};
use std::collections::{HashMap, HashSet};

/// On whose behalf calls are made. Names, as policies have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The task's id.
    pub task: String,
    /// Its project.
    pub project: String,
    /// Who submitted it.
    pub proposer: String,
    /// The runtime that carries it out.
    pub runtime: String,
}

/// Why policies cannot be used. Nothing is allowed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy {name} cannot be used by this release: {why}")]
pub struct Unusable {
    /// Which.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// The policies that judge the calls of one task. Built once for each version of what it was read from.
#[derive(Debug)]
pub struct PolicySet {
    /// The template, and the administrators' policies: what every call is judged by.
    pub(super) common: cedar_policy::PolicySet,
    /// The project's grants that permit by themselves.
    pub(super) permitting: HashSet<GrantId>,
    pub(super) subject: Subject,
    pub(super) authorizer: Authorizer,
    /// The ids of statements that forbid.
    pub(super) forbids: HashSet<PolicyId>,
    pub(super) known: Known,
}

/// The template's own name.
const LINKED: &str = "grant";

/// A grant's name among policies.
pub(super) fn grant_name(grant: &Grant) -> String {
    format!("grant:{}", grant.id)
}

impl PolicySet {
    /// Puts the grants of the subject's project, and `policies` (name and text of each), together.
    ///
    /// # Errors
    /// A policy that this release cannot parse, or that does not fit its schema.
    pub fn build<'a>(
        subject: Subject,
        grants: &[Grant],
        policies: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Unusable> {
        let mut common = cedar_policy::PolicySet::new();
        let mut forbids = HashSet::new();
        template()
            .and_then(|parsed| common.add_template(parsed).map_err(|error| error.to_string()))
            .map_err(|why| Unusable { name: "of the project's grants".to_owned(), why })?;
        for (name, text) in policies {
            let unusable = |why: String| Unusable { name: name.to_owned(), why };
            checked(text).map_err(|findings| {
                unusable(findings.first().map_or_else(String::new, ToString::to_string))
            })?;
            for policy in named(name, text).map_err(unusable)? {
                if policy.effect() == Effect::Forbid {
                    forbids.insert(policy.id().clone());
                }
                common.add(policy).map_err(|error| unusable(error.to_string()))?;
            }
        }
        let permitting =
            grants.iter().filter(|grant| !grant.terms.needs_permit).map(|grant| grant.id).collect();
        let (authorizer, known) = (Authorizer::new(), Known::default());
        Ok(Self { common, permitting, subject, authorizer, forbids, known })
    }

    /// The policies that can say anything of a call that these grants match: the others' links never match
    /// it, and each policy in a set costs time at each decision.
    pub(super) fn matching(&self, grants: &[&Grant]) -> Result<cedar_policy::PolicySet, String> {
        let mut set = self.common.clone();
        let project = uid(Kind::Project, &self.subject.project).ok_or("no such name")?;
        for grant in grants.iter().filter(|grant| self.permitting.contains(&grant.id)) {
            let resource = uid(Kind::Grant, &grant.id.to_string()).ok_or("no such name")?;
            let slots =
                HashMap::from([(SlotId::principal(), project.clone()), (SlotId::resource(), resource)]);
            set.link(PolicyId::new(LINKED), PolicyId::new(grant_name(grant)), slots)
                .map_err(|error| error.to_string())?;
        }
        Ok(set)
    }
}

/// The statements of a policy, called after it: `policy:NAME`, or `policy:NAME#1` and so on.
fn named(name: &str, text: &str) -> Result<Vec<Policy>, String> {
    let statements = statements(text).map_err(|findings| {
        findings.first().map_or_else(|| "it cannot be parsed".to_owned(), ToString::to_string)
    })?;
    let only = statements.len() == 1;
    let id = |number: usize| {
        PolicyId::new(if only { format!("policy:{name}") } else { format!("policy:{name}#{}", number + 1) })
    };
    Ok(statements.into_iter().enumerate().map(|(number, policy)| policy.new_id(id(number))).collect())
}

fn template() -> Result<Template, String> {
    Template::parse(Some(PolicyId::new(LINKED)), TEMPLATE).map_err(|error| error.to_string())
}
