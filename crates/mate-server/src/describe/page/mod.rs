//! The reference page: the document, written out for people. Plain HTML and one style sheet, no script.

mod operation;
mod schema;
mod text;

use super::{document, problems::PROBLEMS};
use serde_json::Value;
use text::{escape, said};

/// The style sheet of the page.
pub const STYLE: &str = include_str!("style.css");

/// The reference page, whole.
#[must_use]
pub fn page() -> String {
    let document = document();
    let mut page = String::with_capacity(400_000);
    page.push_str("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    page.push_str(
        "<meta name=\"color-scheme\" content=\"light dark\"><title>Agent Mate: HTTP interface</title>",
    );
    page.push_str("<link rel=\"stylesheet\" href=\"/api/docs/style.css\"></head><body>");
    page.push_str("<a class=\"skip\" href=\"#top\">To the reference</a><div class=\"frame\">");
    contents(&mut page, &document);
    page.push_str("<main id=\"top\"><header><h1>Agent Mate: HTTP interface</h1>");
    page.push_str(&format!(
        "<p class=\"version\">Version {}</p>",
        escape(text_of(&document["info"]["version"]))
    ));
    page.push_str(&format!("<p>{}</p>", said(text_of(&document["info"]["description"]))));
    page.push_str("<p>The same as a document for programs: <a href=\"/api/v1/openapi.json\">OpenAPI 3.1</a>.</p></header>");
    for tag in list(&document["tags"]) {
        noun(&mut page, &document, tag);
    }
    schemas(&mut page, &document);
    problems(&mut page);
    page.push_str("</main></div></body></html>\n");
    page
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The operations of a noun, with their methods and paths.
fn of_noun<'a>(document: &'a Value, noun: &str) -> Vec<(&'a str, &'a str, &'a Value)> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            if text_of(&operation["tags"][0]) == noun {
                found.push((method.as_str(), path.as_str(), operation));
            }
        }
    }
    found
}

fn contents(page: &mut String, document: &Value) {
    page.push_str("<nav aria-label=\"Contents\"><details open><summary>Contents</summary>");
    for tag in list(&document["tags"]) {
        let noun = text_of(&tag["name"]);
        page.push_str(&format!("<h2><a href=\"#{0}\">{0}</a></h2><ul>", escape(noun)));
        for (method, _, operation) in of_noun(document, noun) {
            let (id, name) = (text_of(&operation["operationId"]), text_of(&operation["operationId"]));
            let verb = name.split_once('_').map_or(name, |(_, verb)| verb).replace('_', " ");
            page.push_str(&format!(
                "<li><a href=\"#{}\"><b class=\"{method}\">{method}</b> {}</a></li>",
                escape(id),
                escape(&verb)
            ));
        }
        page.push_str("</ul>");
    }
    page.push_str("<h2><a href=\"#schemas\">schemas</a></h2><h2><a href=\"#problems\">problems</a></h2></details></nav>");
}

fn noun(page: &mut String, document: &Value, tag: &Value) {
    let noun = text_of(&tag["name"]);
    page.push_str(&format!(
        "<section id=\"{0}\"><h2>{0}</h2><p>{1}</p>",
        escape(noun),
        said(text_of(&tag["description"]))
    ));
    for (method, path, operation) in of_noun(document, noun) {
        operation::write(page, document, method, path, operation);
    }
    page.push_str("</section>");
}

fn schemas(page: &mut String, document: &Value) {
    page.push_str("<section id=\"schemas\"><h2>Schemas</h2><p>What is sent and shown.</p>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        page.push_str(&format!("<article class=\"schema\" id=\"schema-{0}\"><h3>{0}</h3>", escape(name)));
        schema::write(page, schema);
        page.push_str("</article>");
    }
    page.push_str("</section>");
}

fn problems(page: &mut String) {
    page.push_str("<section id=\"problems\"><h2>Problems</h2><p>Every refusal has one of these codes. They are stable.</p>");
    page.push_str("<div class=\"wide\"><table><thead><tr><th>Code</th><th>Status</th><th>What it means</th><th>What to do</th></tr></thead><tbody>");
    for kind in PROBLEMS {
        page.push_str(&format!(
            "<tr id=\"problem-{0}\"><td><code>{0}</code></td><td>{1}</td><td>{2}</td><td>{3}</td></tr>",
            kind.code,
            kind.status,
            said(kind.means),
            said(kind.next)
        ));
    }
    page.push_str("</tbody></table></div></section>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_operation_and_no_script() {
        let (page, document) = (page(), document());
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (_, operation) in methods.as_object().expect("methods") {
                let id = operation["operationId"].as_str().expect("a name");
                assert!(page.contains(&format!("<article class=\"operation\" id=\"{id}\">")), "{path}: {id}");
            }
        }
        for bad in ["<script", "javascript:", " style=", " onclick", "http://", "https://cdn"] {
            let spoilt =
                page.split(bad).skip(1).any(|rest| bad != "http://" || !rest.starts_with("127.0.0.1"));
            assert!(!spoilt, "{bad}");
        }
        // Every link within the page leads somewhere.
        for link in page.split("href=\"#").skip(1) {
            let target = link.split('"').next().expect("a target");
            assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
        }
    }
}
