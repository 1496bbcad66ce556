//! Forms: each with the session's token against forged requests and a key, so that what is sent twice is done once.

use crate::frame::Context;
use crate::text::line;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// What was typed into a form that was refused, and why it was.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Which form, by its address.
    pub action: String,
    /// What was typed.
    pub values: BTreeMap<String, String>,
    /// Why it was refused.
    pub trouble: Option<Trouble>,
}

/// A refusal.
#[derive(Clone, Debug, Default)]
pub struct Trouble {
    /// In few words.
    pub title: String,
    /// What is wrong, and what to do next.
    pub detail: String,
    /// The fields that are wrong, each with why.
    pub fields: Vec<(String, String)>,
}

impl Draft {
    /// What was typed into a field, or what stands there at first.
    pub(crate) fn value<'a>(&'a self, name: &str, first: &'a str) -> &'a str {
        self.values.get(name).map_or(first, String::as_str)
    }

    /// Whether a box is ticked.
    pub(crate) fn ticked(&self, name: &str, first: bool) -> bool {
        if self.values.is_empty() { first } else { self.values.contains_key(name) }
    }

    fn why(&self, name: &str) -> Option<&str> {
        let fields = self.trouble.as_ref()?.fields.iter();
        let of = |field: &str| {
            field == name || field.starts_with(&format!("{name}.")) || field.starts_with(&format!("{name}["))
        };
        fields.clone().find(|(field, _)| of(field)).map(|(_, why)| why.as_str())
    }
}

/// A refusal, above the form or the page.
pub(crate) fn trouble(draft: &Draft) -> Markup {
    html! {
        @if let Some(trouble) = &draft.trouble {
            div.trouble role="alert" { b { (line(&trouble.title, 200)) } " " (line(&trouble.detail, 600)) }
        }
    }
}

/// A form that is posted to `action`.
pub(crate) fn form(cx: &Context, action: &str, class: &str, inner: &Markup) -> Markup {
    html! {
        form.(class) method="post" action=(action) {
            input type="hidden" name="csrf" value=(cx.csrf);
            input type="hidden" name="key" value=(cx.key);
            (inner)
        }
    }
}

/// A button that posts to `action` and says nothing more.
pub(crate) fn press(cx: &Context, action: &str, words: &str, class: &str) -> Markup {
    form(cx, action, "press", &html! { button.{ (class) } type="submit" { (words) } })
}

/// A field: its label, its control, a hint, and what is wrong with it.
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) label: &'a str,
    pub(crate) hint: &'a str,
    pub(crate) first: &'a str,
    pub(crate) required: bool,
}

impl<'a> Field<'a> {
    pub(crate) const fn new(name: &'a str, label: &'a str) -> Self {
        Self { name, label, hint: "", first: "", required: false }
    }

    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(crate) const fn hint(self, hint: &'a str) -> Self {
        Self { hint, ..self }
    }

    pub(crate) const fn first(self, first: &'a str) -> Self {
        Self { first, ..self }
    }

    fn around(&self, draft: &Draft, control: &Markup) -> Markup {
        html! {
            div.field {
                label for={ "f-" (self.name) } {
                    (self.label)
                    @if !self.required { span.optional { " optional" } }
                }
                (control)
                @if !self.hint.is_empty() { p.hint id={ "h-" (self.name) } { (self.hint) } }
                @if let Some(why) = draft.why(self.name) {
                    p.wrong id={ "w-" (self.name) } { (line(why, 300)) }
                }
            }
        }
    }

    fn described(&self, draft: &Draft) -> Option<String> {
        let wrong = draft.why(self.name).map(|_| format!("w-{}", self.name));
        let hint = (!self.hint.is_empty()).then(|| format!("h-{}", self.name));
        let ids: Vec<_> = wrong.into_iter().chain(hint).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }

    /// One line of text; `kind` as HTML calls it.
    pub(crate) fn line(&self, draft: &Draft, kind: &str) -> Markup {
        let wrong = draft.why(self.name).map(|_| "true");
        self.around(
            draft,
            &html! {
                input id={ "f-" (self.name) } name=(self.name) type=(kind) value=(draft.value(self.name, self.first))
                    required[self.required] aria-invalid=[wrong] aria-describedby=[self.described(draft)]
                    autocomplete="off" spellcheck="false";
            },
        )
    }

    /// Several lines of text.
    pub(crate) fn lines(&self, draft: &Draft, rows: u8) -> Markup {
        let wrong = draft.why(self.name).map(|_| "true");
        self.around(
            draft,
            &html! {
                textarea id={ "f-" (self.name) } name=(self.name) rows=(rows) required[self.required]
                    aria-invalid=[wrong] aria-describedby=[self.described(draft)] {
                    (draft.value(self.name, self.first))
                }
            },
        )
    }

    /// One of several; each with its value and its words.
    pub(crate) fn choice(&self, draft: &Draft, of: &[(String, String)]) -> Markup {
        let chosen = draft.value(self.name, self.first);
        self.around(
            draft,
            &html! {
                select id={ "f-" (self.name) } name=(self.name) required[self.required] aria-describedby=[self.described(draft)] {
                    @for (value, words) in of {
                        option value=(value) selected[value == chosen] { (line(words, 120)) }
                    }
                }
            },
        )
    }
}

/// A box to tick.
pub(crate) fn tick(draft: &Draft, name: &str, words: &str, first: bool) -> Markup {
    html! {
        div.field.tick {
            input id={ "f-" (name) } type="checkbox" name=(name) value="yes" checked[draft.ticked(name, first)];
            label for={ "f-" (name) } { (words) }
        }
    }
}

/// Values with words, of constants.
pub(crate) fn options(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(value, words)| ((*value).to_owned(), (*words).to_owned())).collect()
}
