//! What there is to see: what needs somebody, what runs, what waits; read over the HTTP interface.

use crate::cli::{
    client::Client,
    exit::{Exit, Failure},
    show::{at, moment_of, text_at},
};
use mate_model::Micros;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many of each kind are read, of each project.
const EACH: usize = 50;
/// The most projects that are looked into.
const PROJECTS: usize = 50;
/// Of so many running tasks it is said what they call.
const CLOSELY: usize = 20;
/// How many operations of a task are read at once, and how often, in one look.
const TAIL: usize = 100;
const PAGES: usize = 5;
/// How long a failure stays among what needs somebody.
const DAY: i64 = 24 * 3_600 * 1_000_000;

/// Why something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// A call, or a tool of a runtime's own, waits for a person's leave.
    Approval,
    /// Nobody knows how a call ended.
    UnknownCall,
    /// Something else of a task is uncertain.
    UnknownTask,
    /// A session cannot be looked after.
    SetAside,
    /// A task waits for its approval.
    Proposed,
    /// A task failed within the last day, and nobody has gone on from it.
    Failed,
    Running,
    Waiting,
}

impl Why {
    /// In a word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::UnknownCall => "unknown call",
            Self::UnknownTask => "unknown task",
            Self::SetAside => "set aside",
            Self::Proposed => "proposed",
            Self::Failed => "failed",
            Self::Running => "running",
            Self::Waiting => "waiting",
        }
    }
}

/// One line of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) why: Why,
    /// The approval, operation or task, as the interface shows it.
    pub(super) value: Value,
    /// The project's name.
    pub(super) project: String,
    /// Of a running task: its calls in flight, as far as they were read.
    pub(super) in_flight: Option<Vec<Value>>,
    /// Of a running task: its last call.
    pub(super) last: Option<Value>,
}

impl Item {
    /// Its own id: an approval's, an operation's or a task's.
    pub(super) fn id(&self) -> &str {
        text_at(&self.value, "id")
    }

    /// Its task's id.
    pub(super) fn task(&self) -> &str {
        match self.why {
            Why::Approval | Why::UnknownCall => text_at(&self.value, "task"),
            Why::UnknownTask | Why::SetAside | Why::Proposed | Why::Failed | Why::Running | Why::Waiting => {
                self.id()
            }
        }
    }

    fn document(&self) -> Value {
        let noun = match self.why {
            Why::Approval => "approval",
            Why::UnknownCall => "operation",
            Why::UnknownTask | Why::SetAside | Why::Proposed | Why::Failed | Why::Running | Why::Waiting => {
                "task"
            }
        };
        let mut document = json!({ "why": self.why.word().replace(' ', "_"), "project_name": self.project, noun: self.value });
        if self.why == Why::Running {
            document["in_flight"] = self.in_flight.as_ref().map(Vec::len).into();
            document["last_operation"] = self.last.clone().unwrap_or(Value::Null);
        }
        document
    }
}

/// Everything, as it stood at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    pub(super) needs: Vec<Item>,
    pub(super) running: Vec<Item>,
    pub(super) waiting: Vec<Item>,
    /// There is more than was read.
    pub(super) more: bool,
    /// How often the coordinator was asked for it.
    pub(super) asked: usize,
}

impl Picture {
    /// All of it, in the order in which it is shown.
    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.needs.iter().chain(&self.running).chain(&self.waiting)
    }

    /// Whether it is of more than one project.
    pub(super) fn of_several(&self) -> bool {
        let first = self.items().next().map(|item| &item.project);
        self.items().any(|item| Some(&item.project) != first)
    }

    /// As `--json` prints it.
    pub(super) fn document(&self, now: Micros) -> Value {
        let all = |items: &[Item]| items.iter().map(Item::document).collect::<Vec<_>>();
        let now = jiff::Timestamp::from_microsecond(now.0).map(|now| now.to_string());
        json!({
            "at": now.unwrap_or_default(),
            "needs_you": all(&self.needs),
            "running": all(&self.running),
            "waiting": all(&self.waiting),
            "more": self.more,
        })
    }
}

/// Looks, again and again; remembers how far each task's operations were read.
pub(super) struct Looker<'a> {
    client: &'a Client,
    project: Option<String>,
    tails: BTreeMap<String, String>,
}

impl<'a> Looker<'a> {
    pub(super) const fn new(client: &'a Client, project: Option<String>) -> Self {
        Self { client, project, tails: BTreeMap::new() }
    }

    /// How everything stands.
    pub(super) async fn look(&mut self, now: Micros) -> Result<Picture, Failure> {
        let mut seen = Seen { client: self.client, picture: Picture::default() };
        let projects = seen.projects(self.project.as_deref()).await?;
        let names: BTreeMap<&str, &str> =
            projects.iter().map(|project| (text_at(project, "id"), text_at(project, "name"))).collect();
        let of = self.project.as_ref().and(projects.first()).map(|one| text_at(one, "id").to_owned());
        for (why, noun, state) in
            [(Why::Approval, "approvals", None), (Why::UnknownCall, "operations", Some("unknown"))]
        {
            let mut query = vec![("limit", EACH.to_string())];
            query.extend(of.clone().map(|of| ("project", of)));
            query.extend(state.map(|state| ("state", state.to_owned())));
            for value in seen.page(&[noun], &query, true).await? {
                let project = names.get(text_at(&value, "project")).copied().unwrap_or_default();
                seen.put(why, value, project);
            }
        }
        for project in &projects {
            seen.tasks(project, now).await?;
        }
        let mut picture = seen.picture;
        settle(&mut picture);
        self.closely(&mut picture).await?;
        Ok(picture)
    }

    /// What the running tasks call.
    async fn closely(&mut self, picture: &mut Picture) -> Result<(), Failure> {
        let mut tails = BTreeMap::new();
        for item in picture.running.iter_mut().take(CLOSELY) {
            let task = item.id().to_owned();
            let query = [("state", "in_flight".to_owned()), ("limit", TAIL.to_string())];
            let flying = self.client.get(&["tasks", &task, "operations"], &query).await;
            let mut tail = self.tails.remove(&task).unwrap_or_default();
            let last = last_operations(self.client, &task, &mut tail, &mut picture.asked).await;
            picture.asked += 1;
            // One whose journal cannot be read at the moment holds up none of the others.
            let (flying, last) = match (flying, last) {
                (Ok(flying), Ok(last)) => (flying, last),
                (Err(failure), _) | (_, Err(failure)) if failure.exit == Exit::Unreachable => {
                    return Err(failure);
                }
                (Err(_), _) | (_, Err(_)) => continue,
            };
            item.in_flight = Some(items(&flying).to_vec());
            item.last = last.last().cloned();
            tails.insert(task, tail);
        }
        self.tails = tails;
        Ok(())
    }
}

/// The last page of a task's operations, in request order; `tail` is the cursor of the last page that was full.
pub(super) async fn last_operations(
    client: &Client,
    task: &str,
    tail: &mut String,
    asked: &mut usize,
) -> Result<Vec<Value>, Failure> {
    let mut found = Vec::new();
    for _ in 0..PAGES {
        let mut query = vec![("limit", TAIL.to_string())];
        if !tail.is_empty() {
            query.push(("cursor", tail.clone()));
        }
        let page = client.get(&["tasks", task, "operations"], &query).await?;
        *asked += 1;
        if !items(&page).is_empty() {
            found = items(&page).to_vec();
        }
        match text_at(&page, "next") {
            "" => break,
            next => next.clone_into(tail),
        }
    }
    Ok(found)
}

/// One look, while it goes on.
struct Seen<'a> {
    client: &'a Client,
    picture: Picture,
}

impl Seen<'_> {
    async fn projects(&mut self, wanted: Option<&str>) -> Result<Vec<Value>, Failure> {
        if let Some(wanted) = wanted {
            self.picture.asked += 1;
            return Ok(vec![self.client.get(&["projects", wanted], &[]).await?]);
        }
        let all = self.page(&["projects"], &[("limit", PROJECTS.to_string())], true).await?;
        Ok(all.into_iter().filter(|project| text_at(project, "state") == "active").collect())
    }

    /// The first page of a list.
    async fn page(
        &mut self,
        path: &[&str],
        query: &[(&str, String)],
        whole: bool,
    ) -> Result<Vec<Value>, Failure> {
        self.picture.asked += 1;
        let page = self.client.get(path, query).await?;
        self.picture.more |= whole && page.get("next").is_some_and(Value::is_string);
        Ok(items(&page).to_vec())
    }

    async fn tasks(&mut self, project: &Value, now: Micros) -> Result<(), Failure> {
        let (id, name) = (text_at(project, "id"), text_at(project, "name"));
        for (state, why) in [
            ("unknown", Why::UnknownTask),
            ("proposed", Why::Proposed),
            ("failed", Why::Failed),
            ("running", Why::Running),
            ("stop_requested", Why::Running),
            ("accepted", Why::Waiting),
        ] {
            let query = [("state", state.to_owned()), ("limit", EACH.to_string())];
            for task in self.page(&["projects", id, "tasks"], &query, why != Why::Failed).await? {
                let set_aside =
                    matches!(why, Why::Running | Why::Waiting) && !text_at(&task, "set_aside").is_empty();
                if why != Why::Failed || is_fresh(&task, now) {
                    self.put(if set_aside { Why::SetAside } else { why }, task, name);
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, why: Why, value: Value, project: &str) {
        let place = match why {
            Why::Running => &mut self.picture.running,
            Why::Waiting => &mut self.picture.waiting,
            Why::Approval
            | Why::UnknownCall
            | Why::UnknownTask
            | Why::SetAside
            | Why::Proposed
            | Why::Failed => &mut self.picture.needs,
        };
        place.push(Item { why, value, project: project.to_owned(), in_flight: None, last: None });
    }
}

/// Puts it in order: what needs somebody by its kind, everything else the oldest first, and nothing twice.
fn settle(picture: &mut Picture) {
    let told: Vec<_> = picture
        .needs
        .iter()
        .filter(|item| item.why == Why::UnknownCall)
        .map(|item| item.task().to_owned())
        .collect();
    picture.needs.retain(|item| item.why != Why::UnknownTask || !told.iter().any(|task| task == item.id()));
    for items in [&mut picture.needs, &mut picture.running, &mut picture.waiting] {
        // A task that moved on between two lists is in both: the later list is right.
        let mut unique: BTreeMap<String, Item> = BTreeMap::new();
        for item in items.drain(..) {
            unique.insert(item.id().to_owned(), item);
        }
        // Ids sort by the time of their making.
        items.extend(unique.into_values());
        items.sort_by_key(|item| item.why);
    }
    let running: Vec<_> = picture.running.iter().map(|item| item.id().to_owned()).collect();
    picture.waiting.retain(|item| !running.iter().any(|task| task == item.id()));
}

/// A failure of the last day that nobody has gone on from.
fn is_fresh(task: &Value, now: Micros) -> bool {
    at(task, "continued_by").is_null()
        && moment_of(at(task, "ended_at")).is_some_and(|ended| now.since(ended) < DAY)
}

fn items(page: &Value) -> &[Value] {
    page.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
