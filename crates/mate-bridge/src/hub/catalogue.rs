//! What the runtime is shown: every connection's offer under its exposed name.

use super::{
    Hub,
    listing::{Item, Offer, Tool},
    lock,
    names::Namer,
    report,
};
use crate::core::raw;
use serde_json::value::RawValue;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError},
};

/// What clients are told when a list changes.
pub(super) const TOOLS: &str = "notifications/tools/list_changed";
pub(super) const RESOURCES: &str = "notifications/resources/list_changed";
pub(super) const PROMPTS: &str = "notifications/prompts/list_changed";

/// A tool and its exposed name.
#[derive(Clone)]
pub(crate) struct Exposed {
    pub(crate) name: Arc<str>,
    pub(crate) conn: usize,
    pub(crate) tool: Arc<Tool>,
    /// The definition as the runtime sees it.
    shown: Arc<RawValue>,
}

/// A listed thing of one connection, as the runtime sees it.
pub(crate) struct Shown {
    pub(crate) conn: usize,
    /// Its key at the upstream.
    pub(crate) key: String,
    pub(crate) raw: Box<RawValue>,
}

#[derive(Default)]
pub(crate) struct Catalogue {
    pub(crate) tools: Vec<Exposed>,
    by_name: HashMap<String, usize>,
    pub(crate) resources: Vec<Shown>,
    pub(crate) templates: Vec<Shown>,
    pub(crate) prompts: Vec<Shown>,
    prompt_names: HashMap<String, usize>,
    pub(crate) offers: Vec<Option<Arc<Offer>>>,
}

impl Catalogue {
    pub(crate) fn tool(&self, name: &str) -> Option<Exposed> {
        self.by_name.get(name).map(|i| self.tools[*i].clone())
    }

    /// The prompt that is exposed as `name`.
    pub(crate) fn prompt(&self, name: &str) -> Option<&Shown> {
        self.prompt_names.get(name).map(|i| &self.prompts[*i])
    }

    fn build(offers: Vec<Option<Arc<Offer>>>, hub: &Hub, notes: &mut Vec<(usize, String)>) -> Self {
        let mut made = Self::default();
        let (mut tool_names, mut prompt_names) = (Namer::new(hub.limits.name), Namer::new(hub.limits.name));
        let (mut uris, mut templates) = (HashSet::new(), HashSet::new());
        for (conn, offer) in offers.iter().enumerate() {
            let Some(offer) = offer else { continue };
            let at = &hub.conns[conn];
            for tool in &offer.tools {
                let Some(name) = tool_names.name(conn, &at.name, at.prefixed, &tool.name) else { continue };
                made.by_name.insert(name.clone(), made.tools.len());
                made.tools.push(Exposed {
                    name: name.as_str().into(),
                    conn,
                    tool: Arc::clone(tool),
                    shown: show_tool(tool, &name),
                });
            }
            for prompt in &offer.prompts {
                let Some(name) = prompt_names.name(conn, &at.name, at.prefixed, &prompt.key) else {
                    continue;
                };
                let mut object = prompt.object.clone();
                object.set("name", raw(&name));
                made.prompt_names.insert(name, made.prompts.len());
                made.prompts.push(Shown { conn, key: prompt.key.clone(), raw: object.to_raw() });
            }
            for (items, into, seen) in [
                (&offer.resources, &mut made.resources, &mut uris),
                (&offer.templates, &mut made.templates, &mut templates),
            ] {
                for Item { key, object } in items {
                    if seen.insert(key.clone()) {
                        into.push(Shown { conn, key: key.clone(), raw: object.to_raw() });
                    } else {
                        notes.push((conn, format!("{key:?} is offered by an earlier connection; left out")));
                    }
                }
            }
        }
        notes.append(&mut tool_names.notes);
        notes.append(&mut prompt_names.notes);
        made.offers = offers;
        made
    }

    fn tool_texts(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|t| t.shown.get())
    }
}

/// The upstream's own definition with the exposed name, and a mark against being hidden behind a search.
fn show_tool(tool: &Tool, name: &str) -> Arc<RawValue> {
    let mut object = tool.object.clone();
    object.set("name", raw(&name));
    // The runtime makes ordinary calls; whether one is carried out as a task is between the bridge and the upstream.
    if let Some(mut execution) = object.object("execution") {
        execution.remove("taskSupport");
        object.set("execution", execution.to_raw());
    }
    let mut meta = object.object("_meta").unwrap_or_default();
    meta.set("anthropic/alwaysLoad", raw(&true));
    object.set("_meta", meta.to_raw());
    Arc::from(object.to_raw())
}

impl Hub {
    /// Puts the offers together anew; tells the clients what changed, and what an upstream has said to have changed.
    pub(super) fn rebuild(&self, said: &[&str]) {
        let offers = self.conns.iter().map(|c| lock(&c.listing).offer.clone()).collect();
        let mut notes = Vec::new();
        let made = Arc::new(Catalogue::build(offers, self, &mut notes));
        let old = {
            let mut catalogue = self.catalogue.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *catalogue, Arc::clone(&made))
        };
        let differ = !made.tool_texts().eq(old.tool_texts());
        if differ {
            for (conn, note) in notes {
                self.gate.diagnostic(Some(&self.conns[conn].name), &note);
            }
        }
        if differ || said.contains(&TOOLS) {
            self.tools_changed();
        }
        let texts = |list: &[Shown]| list.iter().map(|s| s.raw.get().to_owned()).collect::<Vec<_>>();
        if texts(&made.resources) != texts(&old.resources)
            || texts(&made.templates) != texts(&old.templates)
            || said.contains(&RESOURCES)
        {
            self.changed(RESOURCES);
        }
        if texts(&made.prompts) != texts(&old.prompts) || said.contains(&PROMPTS) {
            self.changed(PROMPTS);
        }
    }

    /// Tells every client that knows a list of tools that it is no longer the list.
    pub(crate) fn tools_changed(&self) {
        self.changed(TOOLS);
    }

    fn changed(&self, method: &str) {
        for client in self.clients().into_iter().filter(|c| c.knows_tools()) {
            client.tell_of(method, None, None);
        }
    }

    /// Whether a tool may be shown.
    fn grants(&self, exposed: &Exposed) -> bool {
        let tool = &exposed.tool;
        self.gate.granted(&self.conns[exposed.conn].name, &tool.name, &tool.definition)
    }

    /// The exposed names of all granted tools, our own first.
    pub(crate) fn granted_names(&self) -> Vec<String> {
        let catalogue = self.catalogue();
        let granted = catalogue.tools.iter().filter(|exposed| self.grants(exposed));
        std::iter::once(report::NAME.to_owned()).chain(granted.map(|t| t.name.to_string())).collect()
    }

    /// The definitions of all granted tools, our own first.
    pub(super) fn granted_tools(&self) -> Vec<Arc<RawValue>> {
        let catalogue = self.catalogue();
        let granted = catalogue.tools.iter().filter(|exposed| self.grants(exposed));
        std::iter::once(report::definition()).chain(granted.map(|t| Arc::clone(&t.shown))).collect()
    }
}
