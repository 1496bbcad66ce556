//! What a route takes and answers.

use std::borrow::Cow;
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        RefOr,
        path::{Parameter, ParameterIn},
        schema::Schema,
    },
};

/// A kind of thing that is sent or shown.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(super) name: fn() -> Cow<'static, str>,
    pub(super) schema: fn() -> RefOr<Schema>,
    pub(super) parts: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl Kind {
    pub(crate) fn of<T: ToSchema>() -> Self {
        Self { name: T::name, schema: T::schema, parts: T::schemas }
    }

    /// What it is called in the document.
    pub(super) fn name_of(&self) -> Cow<'static, str> {
        (self.name)()
    }
}

/// What a route answers when all is well.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    /// One thing.
    One(Kind),
    /// A page of things.
    Page(Kind),
    /// A page of events, or a stream of them.
    Events(Kind),
    /// A stream of events.
    Stream,
    /// The content of an artifact.
    Content,
}

/// A request's body.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    pub(super) kind: Kind,
    /// It cannot be left out.
    pub(super) needed: bool,
}

/// What a route takes and answers.
#[derive(Clone, Copy)]
pub(crate) struct Doc {
    pub(super) says: Option<&'static str>,
    pub(super) name: Option<&'static str>,
    pub(super) query: Option<fn() -> Vec<Parameter>>,
    pub(super) body: Option<Taken>,
    pub(super) keyed: bool,
    pub(super) status: u16,
    pub(super) shown: Shown,
    pub(super) refuses: &'static [&'static str],
}

impl Doc {
    const fn new(status: u16, shown: Shown) -> Self {
        Self { says: None, name: None, query: None, body: None, keyed: true, status, shown, refuses: &[] }
    }

    /// It shows one thing, or what became of it.
    pub(crate) fn shows<T: ToSchema>() -> Self {
        Self::new(200, Shown::One(Kind::of::<T>()))
    }

    /// It makes something, and shows it.
    pub(crate) fn makes<T: ToSchema>() -> Self {
        Self::new(201, Shown::One(Kind::of::<T>()))
    }

    /// It shows a page of things.
    pub(crate) fn lists<T: ToSchema>() -> Self {
        Self::new(200, Shown::Page(Kind::of::<T>()))
    }

    /// It shows a page of events, or streams them.
    pub(crate) fn streams<T: ToSchema>() -> Self {
        Self::new(200, Shown::Events(Kind::of::<T>()))
    }

    /// It streams events.
    pub(crate) const fn only_streams() -> Self {
        Self::new(200, Shown::Stream)
    }

    /// It sends the content of an artifact.
    pub(crate) const fn sends_content() -> Self {
        Self::new(200, Shown::Content)
    }

    /// With these parameters in the address.
    pub(crate) fn query<Q: IntoParams>(self) -> Self {
        Self { query: Some(|| Q::into_params(|| Some(ParameterIn::Query))), ..self }
    }

    /// With this body.
    pub(crate) fn takes<B: ToSchema>(self) -> Self {
        Self { body: Some(Taken { kind: Kind::of::<B>(), needed: true }), ..self }
    }

    /// With this body, or with none.
    pub(crate) fn may_take<B: ToSchema>(self) -> Self {
        Self { body: Some(Taken { kind: Kind::of::<B>(), needed: false }), ..self }
    }

    /// Besides what every route may refuse: codes of [`super::problems::PROBLEMS`].
    pub(crate) const fn refuses(self, codes: &'static [&'static str]) -> Self {
        Self { refuses: codes, ..self }
    }

    /// A POST that takes no idempotency key, since it changes nothing or asks anew each time.
    pub(crate) const fn unkeyed(self) -> Self {
        Self { keyed: false, ..self }
    }

    /// Where the verb's own name and words do not tell it from another route with the same verb.
    pub(crate) const fn named(self, name: &'static str, says: &'static str) -> Self {
        Self { name: Some(name), says: Some(says), ..self }
    }
}
