//! The list of routes, each with its verb and its description; a route without them cannot be written.

use super::judge::judge;
use crate::{ServerState, describe::Doc};
use axum::{
    Router,
    extract::Request,
    handler::Handler,
    middleware::{Next, from_fn},
    routing::{MethodFilter, on},
};
use mate_engine::Verb;

/// An address of the interface with one of the methods that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// Below `/api/v1`; `{name}` stands for a variable part.
    pub path: &'static str,
    /// What is asked here.
    pub verb: Verb,
}

/// Routes, and the list of them.
pub(super) struct Routes {
    pub(super) router: Router<ServerState>,
    pub(super) table: Vec<Route>,
    /// What each of them takes and answers, in the same order.
    pub(super) docs: Vec<Doc>,
}

impl Routes {
    pub(super) fn new() -> Self {
        Self { router: Router::new(), table: Vec::new(), docs: Vec::new() }
    }

    /// Reads.
    pub(super) fn get<T: 'static>(
        self,
        path: &'static str,
        verb: Verb,
        handler: impl Handler<T, ServerState>,
        doc: Doc,
    ) -> Self {
        self.on(MethodFilter::GET, "GET", path, verb, handler, doc)
    }

    /// Changes something.
    pub(super) fn post<T: 'static>(
        self,
        path: &'static str,
        verb: Verb,
        handler: impl Handler<T, ServerState>,
        doc: Doc,
    ) -> Self {
        self.on(MethodFilter::POST, "POST", path, verb, handler, doc)
    }

    /// Removes something.
    pub(super) fn delete<T: 'static>(
        self,
        path: &'static str,
        verb: Verb,
        handler: impl Handler<T, ServerState>,
        doc: Doc,
    ) -> Self {
        self.on(MethodFilter::DELETE, "DELETE", path, verb, handler, doc)
    }

    fn on<T: 'static>(
        mut self,
        filter: MethodFilter,
        method: &'static str,
        path: &'static str,
        verb: Verb,
        handler: impl Handler<T, ServerState>,
        doc: Doc,
    ) -> Self {
        let judged = from_fn(move |request: Request, next: Next| judge(verb, request, next));
        self.router = self.router.route(path, on(filter, handler).route_layer(judged));
        self.table.push(Route { method, path, verb });
        self.docs.push(doc);
        self
    }
}
