//! One decision: Cedar's answer to one call, with what made it.

use super::{
    PolicySet,
    names::{Kind, tool_id, uid},
};
use cedar_policy::{
    AuthorizationError, Context, Decision, Entities, Entity, EntityUid, Request, RestrictedExpression,
};
use mate_model::{GrantId, Micros, records::Grant, words::EffectClass};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

/// The most tools whose place among the entities is remembered.
const REMEMBERED: usize = 1_024;

/// A call to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The connection's name.
    pub connection: &'a str,
    /// The upstream's own name of the tool.
    pub tool: &'a str,
    /// What the call may change.
    pub class: EffectClass,
    /// When it is judged.
    pub now: Micros,
    /// The grants in force whose globs match the tool.
    pub grants: &'a [&'a Grant],
    /// The arguments that may be recorded, as they are recorded: dotted path and value.
    pub shown: &'a [(String, Value)],
}

/// What the policies that decided say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// At least one permits, and none forbids.
    Permit,
    /// At least one forbids, or could not be evaluated.
    Forbid,
    /// None says anything: that is a no.
    Nothing,
}

impl Effect {
    /// The word for records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Forbid => "forbid",
            Self::Nothing => "none",
        }
    }
}

/// The answer, with the policies that made it: `grant:ID`, `policy:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What they say.
    pub effect: Effect,
    /// Those that made the decision, in order of their names.
    pub policies: Vec<String>,
    /// Those among them that could not be evaluated, which is why they forbid.
    pub failed: Vec<String>,
}

impl Verdict {
    /// Whether a permit of an administrator is among what decided.
    #[must_use]
    pub fn by_administrator(&self) -> bool {
        self.effect == Effect::Permit && self.policies.iter().any(|name| name.starts_with("policy:"))
    }
}

/// What a tool stands for, while the same grants match it.
#[derive(Debug)]
struct Place {
    grants: Vec<GrantId>,
    policies: cedar_policy::PolicySet,
    entities: Entities,
}

/// The places of tools that were asked for.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashMap<String, Arc<Place>>>);

impl PolicySet {
    /// Judges a call.
    #[must_use]
    pub fn decide(&self, call: &Call<'_>) -> Verdict {
        match self.ask(call) {
            Ok(verdict) => verdict,
            Err(why) => Verdict { effect: Effect::Forbid, policies: Vec::new(), failed: vec![why] },
        }
    }

    fn ask(&self, call: &Call<'_>) -> Result<Verdict, String> {
        let id = tool_id(call.connection, call.tool);
        let [task, action, tool] =
            [named(Kind::Task, &self.subject.task)?, named(Kind::Action, "call")?, named(Kind::Tool, &id)?];
        let place = self.place(id, &tool, call)?;
        let (entities, context) = self.around(&place, call)?;
        let entities = entities.as_ref().unwrap_or(&place.entities);
        let request = Request::new(task, action, tool, context, None).map_err(|error| error.to_string())?;
        let response = self.authorizer.is_authorized(&request, &place.policies, entities);
        let mut failed = Vec::new();
        for error in response.diagnostics().errors() {
            let AuthorizationError::PolicyEvaluationError(error) = error;
            // One that only permits does not permit then, as everywhere in Cedar.
            if self.forbids.contains(error.policy_id()) {
                failed.push(error.policy_id().to_string());
            }
        }
        let mut policies: Vec<String> = response.diagnostics().reason().map(ToString::to_string).collect();
        let effect = if !failed.is_empty() {
            if response.decision() == Decision::Allow {
                policies.clear();
            }
            policies.extend(failed.iter().cloned());
            Effect::Forbid
        } else if response.decision() == Decision::Allow {
            Effect::Permit
        } else if policies.is_empty() {
            Effect::Nothing
        } else {
            Effect::Forbid
        };
        policies.sort_unstable();
        failed.sort_unstable();
        Ok(Verdict { effect, policies, failed })
    }

    /// The policies and entities that the decision rests on: made once for each tool and the grants in force for it.
    fn place(&self, id: String, tool: &EntityUid, call: &Call<'_>) -> Result<Arc<Place>, String> {
        let mut known = self.known.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known.get(&id)
            && place.grants.iter().eq(call.grants.iter().map(|grant| &grant.id))
        {
            return Ok(Arc::clone(place));
        }
        let place = Arc::new(Place {
            grants: call.grants.iter().map(|grant| grant.id).collect(),
            policies: self.matching(call.grants)?,
            entities: self.entities(tool, call)?,
        });
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(id, Arc::clone(&place));
        Ok(place)
    }

    fn entities(&self, tool: &EntityUid, call: &Call<'_>) -> Result<Entities, String> {
        let subject = &self.subject;
        let (project, connection) =
            (named(Kind::Project, &subject.project)?, named(Kind::Connection, call.connection)?);
        let mut parents = HashSet::from([connection.clone()]);
        for grant in call.grants {
            parents.insert(named(Kind::Grant, &grant.id.to_string())?);
        }
        let link = RestrictedExpression::new_entity_uid;
        let of_task = HashMap::from([
            ("project".to_owned(), link(project.clone())),
            ("proposer".to_owned(), link(named(Kind::Account, &subject.proposer)?)),
            ("runtime".to_owned(), link(named(Kind::Runtime, &subject.runtime)?)),
        ]);
        let of_tool = HashMap::from([
            ("connection".to_owned(), link(connection)),
            ("name".to_owned(), RestrictedExpression::new_string(call.tool.to_owned())),
        ]);
        let task = named(Kind::Task, &subject.task)?;
        let entities = [
            Entity::new(task, of_task, HashSet::from([project])),
            Entity::new(tool.clone(), of_tool, parents),
        ];
        let entities: Vec<Entity> =
            entities.into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Entities::from_entities(entities, None).map_err(|error| error.to_string())
    }

    /// The context, and the entities with the call's arguments where it shows any.
    fn around(&self, place: &Place, call: &Call<'_>) -> Result<(Option<Entities>, Context), String> {
        let (texts, numbers) = (named(Kind::Texts, "call")?, named(Kind::Numbers, "call")?);
        let moment = Moment::of(call.now);
        let (long, text) = (RestrictedExpression::new_long, RestrictedExpression::new_string);
        let context = Context::from_pairs([
            ("class".to_owned(), text(call.class.as_str().to_owned())),
            ("now".to_owned(), long(moment.seconds)),
            ("weekday".to_owned(), text(moment.weekday.to_owned())),
            ("hour".to_owned(), long(moment.hour)),
            ("minute".to_owned(), long(moment.minute)),
            ("texts".to_owned(), RestrictedExpression::new_entity_uid(texts.clone())),
            ("numbers".to_owned(), RestrictedExpression::new_entity_uid(numbers.clone())),
        ])
        .map_err(|error| error.to_string())?;
        if call.shown.is_empty() {
            return Ok((None, context));
        }
        let tagged = |uid, tags: Vec<(String, RestrictedExpression)>| {
            Entity::new_with_tags(uid, [], [], tags).map_err(|error| error.to_string())
        };
        let of_text = call.shown.iter().filter_map(|(path, value)| {
            let value = match value {
                Value::String(value) => value.clone(),
                Value::Bool(value) => value.to_string(),
                Value::Number(value) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((path.clone(), text(value)))
        });
        let of_number =
            call.shown.iter().filter_map(|(path, value)| Some((path.clone(), long(value.as_i64()?))));
        let more = [tagged(texts, of_text.collect())?, tagged(numbers, of_number.collect())?];
        let all = place.entities.clone().add_entities(more, None).map_err(|error| error.to_string())?;
        Ok((Some(all), context))
    }
}

fn named(kind: Kind, id: &str) -> Result<EntityUid, String> {
    uid(kind, id).ok_or_else(|| "a kind of things has no name".to_owned())
}

/// A moment in UTC, as policies see it.
struct Moment {
    seconds: i64,
    weekday: &'static str,
    hour: i64,
    minute: i64,
}

impl Moment {
    fn of(at: Micros) -> Self {
        const DAYS: [&str; 7] =
            ["thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday"];
        let seconds = at.0.div_euclid(1_000_000);
        // The first of January 1970 was a Thursday.
        let day = usize::try_from(seconds.div_euclid(86_400).rem_euclid(7)).unwrap_or_default();
        let weekday = DAYS.get(day).copied().unwrap_or("thursday");
        let of_day = seconds.rem_euclid(86_400);
        Self { seconds, weekday, hour: of_day / 3_600, minute: of_day % 3_600 / 60 }
    }
}
