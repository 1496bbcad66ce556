//! Who visits, and what a page needs to know of that.

use super::{Web, answer, form::Form, inside::Inside, refusal::Refusal};
use crate::extract::Caller;
use axum::{extract::FromRequestParts, response::Response};
use http::{HeaderMap, StatusCode, header, request::Parts};
use jiff::Timestamp;
use mate_engine::EngineError;
use mate_model::{AccountId, ProjectId, words::Role};
use mate_pages::{Context, Draft, Here, Live, Markup, page, view::Account};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The most accounts that a page names.
const NAMES: usize = 50;

/// Who is signed in.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) caller: Caller,
    pub(super) cookie: Arc<str>,
}

impl fmt::Debug for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visitor").field("caller", &self.caller).finish_non_exhaustive()
    }
}

impl Visitor {
    pub(super) fn new(caller: Caller, cookie: String) -> Self {
        Self { caller, cookie: cookie.into() }
    }

    /// The cookie's name. Cookies are not told apart by port: each service of a host has a name of its own.
    pub(super) fn cookie_name(host: &str) -> String {
        let port = host.rsplit_once(':').map_or("", |(_, port)| port);
        let port: String = port.chars().filter(char::is_ascii_digit).collect();
        format!("agent_mate_{}", if port.is_empty() { "80" } else { &port })
    }

    /// What the browser shows.
    pub(super) fn cookie(headers: &HeaderMap, host: &str) -> Option<String> {
        let name = Self::cookie_name(host);
        let given = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = given.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
        pairs.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim().to_owned())
    }

    /// What a form of this browser must bring: nobody else can know it.
    pub(super) fn csrf(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("agent-mate forms of a browser 1");
        hasher.update(self.cookie.as_bytes());
        hasher.finalize().to_hex().to_string()
    }
}

/// A visit: the interface, and what the frame shows.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) web: Web,
    pub(super) api: Inside,
    pub(super) visitor: Visitor,
    pub(super) cx: Context,
    headers: HeaderMap,
}

impl FromRequestParts<Web> for Visit {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Self, Refusal> {
        let visitor = parts.extensions.get::<Visitor>().cloned().ok_or(EngineError::NotAuthenticated)?;
        let caller = visitor.caller.clone();
        let api = Inside { api: web.api.clone(), state: web.state.clone(), caller };
        let account: Account = api.get(&format!("/accounts/{}", visitor.caller.who.account)).await?;
        let engine = &web.state.engine;
        let cx = Context {
            now: Timestamp::from_microsecond(engine.clock.now().0).unwrap_or(Timestamp::UNIX_EPOCH),
            name: account.name,
            admin: visitor.caller.who.admin,
            csrf: visitor.csrf(),
            key: engine.entropy.uuid().to_string(),
        };
        Ok(Self { web: web.clone(), api, visitor, cx, headers: parts.headers.clone() })
    }
}

impl Visit {
    /// A page that does not change by itself.
    pub(super) fn page(&self, here: Here, title: &str, main: &Markup) -> Response {
        answer::html(StatusCode::OK, page(&self.cx, here, title, None, main))
    }

    /// A page that keeps itself as things are; one with a refusal on it stays.
    pub(super) fn live(&self, shown: &Shown<'_>, live: &Live, main: &Markup) -> Response {
        let live = shown.draft.trouble.is_none().then_some(live);
        answer::html(shown.status(), page(&self.cx, shown.here, shown.title, live, main))
    }

    /// A page with a form on it that may have been refused.
    pub(super) fn drafted(&self, shown: &Shown<'_>, main: &Markup) -> Response {
        answer::html(shown.status(), page(&self.cx, shown.here, shown.title, None, main))
    }

    /// To where the form was, if that was a page of one thing; otherwise to `usual`.
    pub(super) fn back(&self, usual: &str) -> Response {
        let from = self.headers.get(header::REFERER).and_then(|value| value.to_str().ok());
        let path = from.and_then(|from| from.split_once("://")).and_then(|(_, rest)| rest.split_once('/'));
        let path = path.map(|(_, path)| path).filter(|path| {
            let bare = path.split('?').next().unwrap_or_default();
            path.is_ascii()
                && !bare.contains("//")
                && (bare.is_empty() || bare.starts_with("tasks/") && bare.matches('/').count() == 1)
        });
        path.map_or_else(|| answer::see_other(usual), |path| answer::see_other(&format!("/{path}")))
    }

    /// Whether the visitor has at least this role in a project.
    pub(super) async fn has(&self, project: &str, role: Role) -> bool {
        let Ok(project) = project.parse::<ProjectId>() else { return false };
        let found = self.web.state.engine.role(&self.visitor.caller.who, project).await;
        matches!(found, Ok(Some(found)) if found >= role)
    }

    /// The names of accounts that a page speaks of.
    pub(super) async fn names<'a>(&self, ids: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for id in ids {
            if names.contains_key(id) || names.len() >= NAMES {
                continue;
            }
            let Ok(account) = id.parse::<AccountId>() else { continue };
            if let Ok(Some(account)) = self.web.state.engine.ledger.account(account).await {
                names.insert(id.to_owned(), account.name);
            }
        }
        names
    }
}

/// Which page is shown, and what became of its form.
#[derive(Clone, Debug)]
pub(super) struct Shown<'a> {
    pub(super) here: Here,
    pub(super) title: &'a str,
    pub(super) draft: &'a Draft,
    pub(super) refused: Option<StatusCode>,
}

impl Shown<'_> {
    fn status(&self) -> StatusCode {
        self.refused.unwrap_or(StatusCode::OK)
    }
}

/// What became of a form: nothing yet, or a refusal with what was typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Tried {
    pub(super) draft: Draft,
    pub(super) refused: Option<StatusCode>,
}

impl Tried {
    /// A form that was refused.
    pub(super) fn refused(form: Form, refusal: Refusal) -> Self {
        let draft = Draft { action: form.action, values: form.values, trouble: Some(refusal.trouble) };
        Self { draft, refused: Some(refusal.status) }
    }

    /// The page that shows it.
    pub(super) fn on<'a>(&'a self, here: Here, title: &'a str) -> Shown<'a> {
        Shown { here, title, draft: &self.draft, refused: self.refused }
    }
}
