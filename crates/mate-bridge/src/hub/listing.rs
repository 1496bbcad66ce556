//! Asking one upstream what it offers: bounded, and never in the way of another's list.

use super::{Conn, Hub, lock};
use crate::{
    config::Limits,
    core::{
        Answer, Fault, Object, bounded,
        mirrored::{Mirror, of_schema},
        raw,
        schema::Schema,
    },
    upstream::{End, Hello, Outgoing, Reply},
};
use serde_json::{json, value::RawValue};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// The least pause between two lists that an upstream's own word asks for, in microseconds. It doubles with each that
/// follows the one before within the longest.
const SHORTEST: i64 = 50_000;
const LONGEST: i64 = 10_000_000;

/// A tool as its upstream defined it.
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) definition: Arc<RawValue>,
    pub(crate) object: Object,
    schema: OnceLock<Result<Schema, String>>,
    mirrors: OnceLock<Result<Vec<Mirror>, String>>,
}

impl Tool {
    /// The compiled input schema, made at first use; the error says why it cannot be used.
    pub(crate) fn schema(&self) -> Result<&Schema, &str> {
        let made = self.schema.get_or_init(|| match self.object.get("inputSchema") {
            None => Err("it has no input schema".into()),
            Some(schema) => Schema::compile(schema),
        });
        made.as_ref().map_err(String::as_str)
    }

    /// The arguments that are wanted in headers as well; the error says why the tool is not offered over HTTP.
    pub(crate) fn mirrors(&self) -> Result<&[Mirror], &str> {
        let made = self
            .mirrors
            .get_or_init(|| self.object.get("inputSchema").map_or_else(|| Ok(Vec::new()), of_schema));
        made.as_deref().map_err(String::as_str)
    }

    /// Whether it may, or must, be called as a task where the upstream offers tasks at all.
    pub(super) fn runs_as_task(&self) -> bool {
        let support = self.object.object("execution").and_then(|execution| execution.text("taskSupport"));
        matches!(support.as_deref(), Some("optional" | "required"))
    }
}

/// Something else that is listed, found by one member of it.
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) object: Object,
}

/// All that one upstream offers.
#[derive(Default)]
pub(crate) struct Offer {
    pub(crate) hello: Arc<Hello>,
    pub(crate) tools: Vec<Arc<Tool>>,
    pub(crate) resources: Vec<Item>,
    pub(crate) templates: Vec<Item>,
    pub(crate) prompts: Vec<Item>,
}

/// Where the listing of a connection stands.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) offer: Option<Arc<Offer>>,
    running: bool,
    again: bool,
    /// Somebody already waited for it in vain; nobody waits twice.
    overdue: bool,
    done: bool,
    /// Lists of which the upstream has said that they changed.
    said: Vec<&'static str>,
    pace: Pace,
}

/// Keeps an upstream that says at each list that it has changed from being listed without end.
#[derive(Default)]
struct Pace {
    /// The pause before the next list, and when the last one ended; in microseconds, monotonic.
    pause: i64,
    ended: Option<i64>,
}

impl Pace {
    /// How long the next list that the upstream asks for has to wait.
    fn next(&mut self, now: i64) -> Duration {
        let Some(ended) = self.ended else { return Duration::ZERO };
        let since = now.saturating_sub(ended);
        self.pause = if since > LONGEST { SHORTEST } else { (self.pause * 2).clamp(SHORTEST, LONGEST) };
        Duration::from_micros(u64::try_from(self.pause.saturating_sub(since)).unwrap_or(0))
    }
}

impl Listing {
    /// Nothing is known yet, and somebody is asking.
    pub(super) fn is_awaited(&self) -> bool {
        self.running && self.offer.is_none()
    }
}

impl Hub {
    /// Starts listing a connection if nothing is known of it (or, with `afresh`, in any case).
    pub(crate) fn want(self: &Arc<Self>, conn: usize, afresh: bool) {
        {
            let mut listing = lock(&self.conns[conn].listing);
            if listing.running {
                listing.again |= afresh;
                return;
            }
            if listing.offer.is_some() && !afresh {
                return;
            }
            listing.running = true;
        }
        let hub = Arc::clone(self);
        tokio::spawn(async move { hub.list(conn, afresh).await });
    }

    /// The upstream says that a list has changed: it is asked again, and the clients are told.
    pub(super) fn has_changed(self: &Arc<Self>, conn: usize, method: &'static str) {
        {
            let said = &mut lock(&self.conns[conn].listing).said;
            if !said.contains(&method) {
                said.push(method);
            }
        }
        self.want(conn, true);
    }

    /// `told`: the upstream itself gave cause to ask, and so does not get to do it without a pause.
    async fn list(self: Arc<Self>, conn: usize, mut told: bool) {
        loop {
            if told {
                let pause = lock(&self.conns[conn].listing).pace.next(self.clock.monotonic());
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.ending.cancelled() => return,
                }
                // What it has said by now, this list shows.
                lock(&self.conns[conn].listing).again = false;
            }
            let offer = self.fetch_patiently(conn).await;
            if let Err(why) = &offer {
                self.gate.diagnostic(Some(&self.conns[conn].name), &format!("it cannot be listed: {why}"));
            }
            if let Ok(offer) = &offer {
                let at = &self.conns[conn];
                let tools = offer.tools.iter().map(|tool| (tool.name.clone(), Arc::clone(&tool.definition)));
                self.gate.offered((at.id, &at.name), tools.collect()).await;
            }
            let (again, said) = {
                let mut listing = lock(&self.conns[conn].listing);
                if let Ok(offer) = offer {
                    listing.offer = Some(Arc::new(offer));
                }
                listing.done = true;
                listing.pace.ended = Some(self.clock.monotonic());
                // What it has said meanwhile is a reason to ask again, not to ask at once.
                listing.running = std::mem::take(&mut listing.again);
                (listing.running, std::mem::take(&mut listing.said))
            };
            self.rebuild(&said);
            self.listed.send_modify(|n| *n += 1);
            if !again {
                return;
            }
            told = true;
        }
    }

    /// What a connection offers. A list that fails at once is asked for again, twice at the most: it changes nothing, and an
    /// upstream may have closed its kept connection at that moment.
    async fn fetch_patiently(&self, conn: usize) -> Result<Offer, String> {
        const AT_ONCE: i64 = 1_000_000;
        let began = self.clock.monotonic();
        let mut offer = self.fetch(&self.conns[conn]).await;
        for _ in 0..2 {
            if offer.is_ok() || self.clock.monotonic() - began > AT_ONCE {
                break;
            }
            offer = self.fetch(&self.conns[conn]).await;
        }
        offer
    }

    /// Wants every granted connection and waits until each is listed, failed, or out of time.
    pub(crate) async fn ready(self: &Arc<Self>, wait: Duration) {
        let mut listed = self.listed.subscribe();
        let wanted: Vec<usize> =
            (0..self.conns.len()).filter(|c| self.gate.connection_granted(&self.conns[*c].name)).collect();
        for conn in &wanted {
            self.want(*conn, false);
        }
        let missing = |conn: &&usize| {
            let listing = lock(&self.conns[**conn].listing);
            listing.running && listing.offer.is_none() && !listing.overdue && !listing.done
        };
        let all = async { while wanted.iter().any(|c| missing(&c)) && listed.changed().await.is_ok() {} };
        if tokio::time::timeout(wait, all).await.is_err() {
            for conn in wanted.iter().filter(missing) {
                let conn = &self.conns[*conn];
                lock(&conn.listing).overdue = true;
                self.gate.diagnostic(Some(&conn.name), "it is slow to answer; its tools follow when it does");
            }
        }
    }

    async fn fetch(&self, conn: &Conn) -> Result<Offer, String> {
        let hello = conn.upstream.hello().await?;
        let mut offer = Offer { hello: Arc::clone(&hello), ..Offer::default() };
        if hello.tools {
            let (items, note) = self.pages(conn, "tools/list", "tools").await?;
            self.note(conn, note);
            let tools = self.items(conn, items, "name").map(tool);
            offer.tools = tools.filter(|tool| self.can_be_called(conn, &hello, tool)).collect();
        }
        for (has, method, member, key, into) in [
            (hello.resources, "resources/list", "resources", "uri", &mut offer.resources),
            (
                hello.resources,
                "resources/templates/list",
                "resourceTemplates",
                "uriTemplate",
                &mut offer.templates,
            ),
            (hello.prompts, "prompts/list", "prompts", "name", &mut offer.prompts),
        ] {
            if !has {
                continue;
            }
            match self.pages(conn, method, member).await {
                Ok((items, note)) => {
                    self.note(conn, note);
                    *into = self.items(conn, items, key).collect();
                }
                Err(why) => self.note(conn, Some(format!("{method} failed: {why}"))),
            }
        }
        Ok(offer)
    }

    /// In the new era a tool whose arguments cannot be put into headers must not be offered over HTTP.
    fn can_be_called(&self, conn: &Conn, hello: &Hello, tool: &Tool) -> bool {
        if !hello.new || !conn.over_http {
            return true;
        }
        tool.mirrors()
            .map_err(|why| self.note(conn, Some(format!("{:?} is left out: {why}", tool.name))))
            .is_ok()
    }

    fn note(&self, conn: &Conn, note: Option<String>) {
        if let Some(note) = note {
            self.gate.diagnostic(Some(&conn.name), &note);
        }
    }

    fn items<'a>(
        &'a self,
        conn: &'a Conn,
        items: Vec<Box<RawValue>>,
        key: &'static str,
    ) -> impl Iterator<Item = Item> + 'a {
        items.into_iter().filter_map(move |item| {
            let object = Object::parse(&item);
            let read = object.and_then(|object| match object.text(key) {
                Some(key) if !key.is_empty() && key.len() <= 2048 => Ok(Item { key, object }),
                Some(_) | None => Err(format!("its `{key}` is no usable text")),
            });
            read.map_err(|why| self.note(conn, Some(format!("an item of its lists is left out: {why}")))).ok()
        })
    }

    /// All pages of one list, up to the limits; the note says if it was cut.
    async fn pages(
        &self,
        conn: &Conn,
        method: &'static str,
        member: &str,
    ) -> Result<(Vec<Box<RawValue>>, Option<String>), String> {
        let Limits { items: most, items_bytes, .. } = self.limits;
        let (mut all, mut bytes, mut cursor) = (Vec::new(), 0, None::<String>);
        // A page may be empty, so pages are counted too.
        for _ in 0..most {
            let params = cursor.map_or_else(|| raw(&json!({})), |c| raw(&json!({ "cursor": c })));
            let result = self.ask(conn, method, params).await.map_err(|f| shown(&f))?;
            let page = Object::parse(&result)?;
            for item in page.list(member).ok_or_else(|| format!("its answer has no list `{member}`"))? {
                bytes += item.get().len();
                if all.len() == most || bytes > items_bytes {
                    return Ok((
                        all,
                        Some(format!(
                            "{method}: only the first {most} items or {items_bytes} bytes are used"
                        )),
                    ));
                }
                all.push(item);
            }
            cursor = page.text("nextCursor");
            if cursor.is_none() {
                return Ok((all, None));
            }
        }
        Ok((all, Some(format!("{method}: more than {most} pages; the rest is not used"))))
    }

    /// A read at an upstream: bounded, and its failure is an error like any other.
    pub(crate) async fn ask(
        &self,
        conn: &Conn,
        method: &'static str,
        params: Box<RawValue>,
    ) -> Result<Box<RawValue>, Fault> {
        match self.read(conn, method, params, self.limits.read.max(self.limits.start)).await {
            Ok(Answer::Result(result)) => Ok(result),
            Ok(Answer::Error(fault)) => Err(fault),
            Err(why) => {
                let why = self.shown(&why);
                Err(Fault::internal(&format!("the connection {:?} did not answer: {why}", conn.name)))
            }
        }
    }

    /// The same, with a bound of its own; what the upstream answers is told apart from that it did not.
    pub(super) async fn read(
        &self,
        conn: &Conn,
        method: &'static str,
        params: Box<RawValue>,
        bound: Duration,
    ) -> Result<Answer, String> {
        let (reply, race, end) = Reply::new(None);
        let id = self.next_id();
        let work = async {
            conn.upstream.send(Outgoing { id, method, params, mirrored: Vec::new(), reply }).await;
            end.await
        };
        let end = tokio::time::timeout(bound, work).await;
        race.give_up();
        match end {
            Ok(Ok(End::Answer(answer))) => Ok(answer),
            Ok(Ok(End::NotSent(why) | End::Unknown(why))) => Err(why),
            Ok(Err(_)) => Err("it was dropped".to_owned()),
            Err(_) => Err("it took too long".to_owned()),
        }
    }
}

fn tool(item: Item) -> Arc<Tool> {
    let Item { key, object } = item;
    let definition = Arc::from(object.to_raw());
    Arc::new(Tool { name: key, definition, object, schema: OnceLock::new(), mirrors: OnceLock::new() })
}

fn shown(fault: &Fault) -> String {
    bounded(fault.0.get()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_before_a_list_grows_while_the_upstream_asks_for_more_and_shrinks_when_it_rests() {
        let mut pace = Pace::default();
        assert_eq!(pace.next(7), Duration::ZERO, "nothing was listed yet");
        let (mut now, mut lists) = (0, 0);
        // A minute of an upstream that says at each list that it has changed.
        while now < 60_000_000 {
            pace.ended = Some(now);
            now += i64::try_from(pace.next(now).as_micros()).expect("short");
            lists += 1;
        }
        assert!((8..20).contains(&lists), "{lists}");
        assert_eq!(pace.next(now + LONGEST + 1), Duration::ZERO, "it has rested");
        pace.ended = Some(now);
        assert_eq!(pace.next(now), Duration::from_millis(100));
    }
}
