//! One operation on the page.

use super::{
    list, schema,
    text::{escape, said},
    text_of,
};
use serde_json::Value;

pub(super) fn write(page: &mut String, document: &Value, method: &str, path: &str, operation: &Value) {
    let id = escape(text_of(&operation["operationId"]));
    page.push_str(&format!("<article class=\"operation\" id=\"{id}\"><h3><a href=\"#{id}\">"));
    page.push_str(&format!("<b class=\"{method}\">{method}</b> <code>{}</code></a></h3>", broken(path)));
    page.push_str(&format!("<p>{}", said(text_of(&operation["summary"]))));
    if let Some(needs) = operation["description"].as_str() {
        page.push_str(&format!(" <span class=\"needs\">{}</span>", said(needs)));
    }
    page.push_str("</p>");
    parameters(page, list(&operation["parameters"]));
    if let Some(body) = operation.get("requestBody") {
        let content = &body["content"]["application/json"];
        let title = if body["required"] == true { "Body" } else { "Body (may be left out)" };
        page.push_str(&format!("<h4>{title}: {}</h4>", schema::kind(&content["schema"])));
        example(page, &content["example"]);
    }
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        if status.starts_with(['2', '3']) {
            success(page, status, answer);
        }
    }
    refusals(page, document, operation);
    page.push_str("</article>");
}

/// A path that a narrow screen may break before its slashes.
fn broken(path: &str) -> String {
    escape(path).replace('/', "<wbr>/")
}

fn parameters(page: &mut String, parameters: &[Value]) {
    if parameters.is_empty() {
        return;
    }
    page.push_str("<h4>Parameters</h4><dl>");
    for parameter in parameters {
        let place = match text_of(&parameter["in"]) {
            "path" => "in the path",
            "header" => "header",
            _ => "in the query",
        };
        page.push_str(&format!(
            "<dt><code>{}</code> <small>{place}</small> <small>{}</small></dt><dd>{}</dd>",
            escape(text_of(&parameter["name"])),
            schema::kind(&parameter["schema"]),
            said(text_of(&parameter["description"]))
        ));
    }
    page.push_str("</dl>");
}

fn success(page: &mut String, status: &str, answer: &Value) {
    page.push_str(&format!("<h4>{status}: {}</h4>", said(text_of(&answer["description"]))));
    for (kind, content) in answer["content"].as_object().into_iter().flatten() {
        let shown = schema::kind(&content["schema"]);
        page.push_str(&format!("<p class=\"type\"><code>{}</code> {shown}</p>", escape(kind)));
        example(page, &content["example"]);
    }
}

fn example(page: &mut String, example: &Value) {
    if example.is_null() {
        return;
    }
    let text = serde_json::to_string_pretty(example).unwrap_or_default();
    page.push_str(&format!(
        "<details><summary>Example</summary><pre tabindex=\"0\">{}</pre></details>",
        escape(&text)
    ));
}

/// The codes of all refusals, each with a link to its meaning.
fn refusals(page: &mut String, document: &Value, operation: &Value) {
    page.push_str("<p class=\"refusals\">Problems: ");
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let answer = match answer["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
            Some(pointer) => document.pointer(pointer).unwrap_or(answer),
            None => answer,
        };
        for code in list(&answer["x-codes"]) {
            let code = escape(text_of(code));
            page.push_str(&format!("<a href=\"#problem-{code}\">{status} <code>{code}</code></a> "));
        }
    }
    page.push_str("</p>");
}
