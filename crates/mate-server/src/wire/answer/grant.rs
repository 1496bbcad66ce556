//! Grants and the definitions that are pinned under them.

use super::InFlight;
use crate::wire::shape;
use mate_model::{
    AccountId, ConnectionId, GrantId, ProjectId,
    limit::{Amount, Rate},
    words::{ApprovalMode, EffectClass},
};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A grant: a project's authority to use tools of a connection.
#[derive(Debug, Serialize, ToSchema)]
pub struct Grant {
    /// Its id.
    #[schema(value_type = shape::GrantId)]
    pub id: GrantId,
    /// `active`, `definition_changed` (renew it), `used_up`, `expired` or `revoked`.
    pub state: &'static str,
    /// To which project.
    #[schema(value_type = shape::ProjectId)]
    pub project: ProjectId,
    /// For which connection.
    #[schema(value_type = shape::ConnectionId)]
    pub connection: ConnectionId,
    /// The connection's name.
    pub connection_name: String,
    /// The project's name.
    pub project_name: String,
    /// Patterns of the upstream's own tool names.
    pub tools: Vec<String>,
    /// The effect class of these tools.
    #[schema(value_type = Option<shape::EffectClass>)]
    pub effect: Option<EffectClass>,
    /// When a person is asked.
    #[schema(value_type = shape::ApprovalMode)]
    pub approve: ApprovalMode,
    /// How many calls it is good for.
    pub max_calls: Option<i64>,
    /// How many were made.
    pub used_calls: i64,
    /// It permits nothing by itself: a policy must permit the call as well.
    pub needs_permit: bool,
    /// How many calls in a time, for each session.
    #[schema(value_type = Option<shape::Rate>)]
    pub rate: Option<Rate>,
    /// How much may be spent in all.
    #[schema(value_type = Option<shape::Amount>)]
    pub max_spend: Option<Amount>,
    /// How much was spent.
    #[schema(value_type = Option<shape::Amount>)]
    pub used_spend: Option<Amount>,
    /// What each call costs, besides what its arguments say.
    #[schema(value_type = Option<shape::Amount>)]
    pub cost: Option<Amount>,
    /// `TOOL.FIELD`: the argument that says what a call spends.
    pub spend_fields: Vec<String>,
    /// How many pinned tools have another definition now.
    pub changed_tools: i64,
    /// Who made it.
    #[schema(value_type = shape::AccountId)]
    pub created_by: AccountId,
    /// That account's name.
    pub created_by_name: String,
    /// When it was made.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// When it ends.
    #[schema(value_type = Option<shape::Time>)]
    pub expires_at: Option<String>,
    /// When it was revoked.
    #[schema(value_type = Option<shape::Time>)]
    pub revoked_at: Option<String>,
    /// Where it was taken away just now: what was on its way, and may have happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
}

/// A grant with a page of its pins.
#[derive(Debug, Serialize, ToSchema)]
pub struct GrantWithPins {
    /// As it is shown everywhere.
    #[serde(flatten)]
    pub grant: Grant,
    /// The definitions that are pinned under it.
    pub pins: Pins,
}

/// A page of pins.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pins {
    /// The pins.
    pub items: Vec<Pin>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

/// A tool's definition under a grant, as it was first seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pin {
    /// The upstream's own name of the tool.
    pub tool: String,
    /// `pinned` or `definition_changed`.
    pub state: &'static str,
    /// The digest of all of it.
    pub digest: String,
    /// Each member of the definition.
    pub fields: BTreeMap<String, PinnedField>,
    /// When it was pinned.
    #[schema(value_type = shape::Time)]
    pub pinned_at: String,
    /// What it is now, where that is something else.
    pub change: Option<PinChange>,
}

/// A member of a pinned definition.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinnedField {
    /// Its size in bytes, in its one spelling.
    pub size: u64,
    /// Its BLAKE3 digest, in hexadecimal digits.
    pub digest: String,
}

/// A definition that is another than the pinned one.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinChange {
    /// The digest of all of it.
    pub digest: String,
    /// Each of its members.
    pub fields: BTreeMap<String, PinnedField>,
    /// The members that differ.
    pub changed: Vec<String>,
    /// When it was seen.
    #[schema(value_type = shape::Time)]
    pub seen_at: String,
}
