//! Hears what an upstream says unasked while it is looked at.

use crate::{
    core::{Answer, Fault, Notification, Request, raw},
    upstream::Inbound,
};
use async_trait::async_trait;
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// How many of its last lines are kept.
const LINES: usize = 20;

#[derive(Default)]
pub(super) struct Ear {
    heard: Mutex<Heard>,
    /// A session would tell it roots.
    roots: bool,
}

#[derive(Default)]
struct Heard {
    said: VecDeque<String>,
    /// A line on its output that was no message.
    other: Option<String>,
}

impl Ear {
    pub(super) fn with_roots(roots: bool) -> Self {
        Self { roots, ..Self::default() }
    }

    pub(super) fn said(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).said.iter().cloned().collect()
    }

    /// What it wrote where messages are expected.
    pub(super) fn other(&self) -> Option<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).other.clone()
    }
}

#[async_trait]
impl Inbound for Ear {
    async fn request(&self, _origin: Option<u64>, request: &Request) -> Answer {
        match request.method.as_str() {
            "ping" => Answer::Result(raw(&json!({}))),
            "roots/list" if self.roots => Answer::Result(raw(&json!({ "roots": [] }))),
            other => Answer::Error(Fault::no_method(other)),
        }
    }

    fn notification(&self, _origin: Option<u64>, _notification: Notification) {}

    fn has_roots(&self) -> bool {
        self.roots
    }

    fn connected(&self) {}

    fn diagnostic(&self, text: &str) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = text.strip_prefix("stderr: ") {
            if heard.said.len() == LINES {
                heard.said.pop_front();
            }
            heard.said.push_back(line.to_owned());
        } else if text.starts_with("it sent what is no message") {
            heard.other.get_or_insert_with(|| text.to_owned());
        }
    }
}
