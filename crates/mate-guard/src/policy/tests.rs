//! Decisions as a table, and the plain matcher against Cedar.

use super::*;
use crate::grants::{Decision, choose, ranked, refusal};
use mate_model::{
    AccountId, ConnectionId, GrantId, Micros, ProjectId,
    records::{Grant, Terms},
    words::{ApprovalMode, EffectClass},
};
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

/// Monday the 30th of November 2026, 10:20 UTC.
const NOW: Micros = Micros(1_796_034_000_000_000);

fn subject() -> Subject {
    let text = str::to_owned;
    Subject { task: text("tsk_1"), project: text("shop"), proposer: text("ann"), runtime: text("codex") }
}

fn github() -> ConnectionId {
    ConnectionId::new(Uuid::from_u128(1))
}

fn grant(number: u128, tools: &[&str]) -> Grant {
    Grant {
        id: GrantId::new(Uuid::from_u128(number)),
        connection: github(),
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        effect: None,
        approve: ApprovalMode::Never,
        expires_at: None,
        max_calls: None,
        used_calls: 0,
        created_by: AccountId::new(Uuid::from_u128(8)),
        created_at: NOW,
        revoked_at: None,
        terms: Terms::default(),
        project: ProjectId::new(Uuid::from_u128(9)),
    }
}

fn decide(policy: &str, shown: &[(String, serde_json::Value)]) -> Verdict {
    decide_for(&grant(1, &["*"]), policy, shown)
}

fn decide_for(grant: &Grant, policy: &str, shown: &[(String, serde_json::Value)]) -> Verdict {
    let texts = (!policy.is_empty()).then_some(("house", policy));
    let set = PolicySet::build(subject(), std::slice::from_ref(grant), texts).expect(policy);
    let (grants, now, class) = ([grant], NOW, EffectClass::Effect);
    let call = Call { connection: "github", tool: "delete_repo", class, now, grants: &grants, shown };
    let first = set.decide(&call);
    assert_eq!(set.decide(&call), first, "the remembered place decides the same");
    first
}

#[test]
fn the_schema_and_the_template_are_good() {
    assert!(schema().is_some());
    let template = cedar_policy::Template::parse(None, TEMPLATE).expect("the template");
    let mut set = cedar_policy::PolicySet::new();
    set.add_template(template).expect("added");
    let validator = cedar_policy::Validator::new(schema().expect("a schema").clone());
    let result = validator.validate(&set, cedar_policy::ValidationMode::Strict);
    assert!(result.validation_passed_without_warnings(), "{result:?}");
}

/// What forbids the call of `github/delete_repo` by the task in `shop`, and what does not.
#[test]
fn g07_a_forbid_wins_over_every_grant() {
    for (forbids, policy) in [
        (true, r#"forbid (principal, action, resource);"#),
        (true, r#"forbid (principal in Project::"shop", action == Action::"call", resource);"#),
        (true, r#"forbid (principal, action, resource in Connection::"github");"#),
        (true, r#"forbid (principal, action, resource == Tool::"github/delete_repo");"#),
        (true, r#"forbid (principal, action, resource) when { resource.name like "delete_*" };"#),
        (true, r#"forbid (principal, action, resource) when { principal.runtime == Runtime::"codex" };"#),
        (true, r#"forbid (principal, action, resource) when { principal.proposer == Account::"ann" };"#),
        (true, r#"forbid (principal, action, resource) when { context.class == "effect" };"#),
        (true, r#"forbid (principal, action, resource) when { context.weekday == "monday" };"#),
        (
            true,
            r#"forbid (principal, action, resource) when { context.hour >= 10 && context.minute == 20 };"#,
        ),
        (true, r#"forbid (principal, action, resource) when { context.now > 1796034000 - 1 };"#),
        (true, "permit (principal, action, resource);\nforbid (principal, action, resource);"),
        (false, r#"forbid (principal in Project::"other", action, resource);"#),
        (false, r#"forbid (principal, action, resource in Connection::"gitlab");"#),
        (false, r#"forbid (principal, action, resource) when { resource.name like "get_*" };"#),
        (false, r#"forbid (principal, action, resource) when { context.class == "read" };"#),
        (false, r#"forbid (principal, action, resource) when { context.weekday == "friday" };"#),
        (false, r#"permit (principal, action, resource in Connection::"gitlab");"#),
        (false, ""),
    ] {
        let verdict = decide(policy, &[]);
        let effect = if forbids { Effect::Forbid } else { Effect::Permit };
        assert_eq!(verdict.effect, effect, "{policy}");
        let by = if forbids { "policy:house" } else { "grant:grt_00000000000000000000000000000001" };
        assert!(verdict.policies.iter().all(|name| name.starts_with(by)), "{policy}: {verdict:?}");
        assert!(!verdict.policies.is_empty(), "{policy}");
    }
}

#[test]
fn arguments_that_may_be_recorded_may_be_looked_at() {
    let policy = r#"forbid (principal, action, resource)
        unless { context.numbers.hasTag("amount") && context.numbers.getTag("amount") <= 100 };"#;
    let amount = |value: serde_json::Value| decide(policy, &[("amount".to_owned(), value)]).effect;
    assert_eq!(amount(json!(100)), Effect::Permit);
    assert_eq!(amount(json!(101)), Effect::Forbid);
    assert_eq!(amount(json!("100")), Effect::Forbid, "a text is no number");
    assert_eq!(decide(policy, &[]).effect, Effect::Forbid, "what is not there is not small");
    let policy = r#"forbid (principal, action, resource)
        when { context.texts.hasTag("repo.owner") && context.texts.getTag("repo.owner") == "acme" };"#;
    let owner = |value: &str| decide(policy, &[("repo.owner".to_owned(), json!(value))]).effect;
    assert_eq!((owner("acme"), owner("other")), (Effect::Forbid, Effect::Permit));
}

#[test]
fn g13_what_cannot_be_evaluated_forbids() {
    let overflow = r#"forbid (principal, action, resource) when { context.now * 9223372036854775807 > 0 };"#;
    let verdict = decide(overflow, &[]);
    assert_eq!((verdict.effect, verdict.policies.clone()), (Effect::Forbid, vec!["policy:house".to_owned()]));
    assert_eq!(verdict.failed, ["policy:house"]);
    // One that only permits does not permit.
    let verdict = decide(&overflow.replace("forbid", "permit"), &[]);
    assert_eq!((verdict.effect, verdict.by_administrator()), (Effect::Permit, false));
    for unknown in ["permit (principal, action, resource) when { principal.mood == 1 };", "mandate (x);"] {
        let built = PolicySet::build(subject(), &[grant(1, &["*"])], [("future", unknown)]);
        assert_eq!(built.expect_err(unknown).name, "future");
    }
}

#[test]
fn a_grant_that_needs_a_permit_permits_nothing_by_itself() {
    let mut careful = grant(1, &["*"]);
    careful.terms.needs_permit = true;
    assert_eq!(decide_for(&careful, "", &[]).effect, Effect::Nothing);
    let permit = r#"permit (principal, action, resource in Connection::"github");"#;
    let verdict = decide_for(&careful, permit, &[]);
    assert_eq!((verdict.effect, verdict.by_administrator()), (Effect::Permit, true));
    let id = careful.id;
    let by_id = format!(r#"permit (principal, action, resource in Grant::"{id}");"#);
    assert!(decide_for(&careful, &by_id, &[]).by_administrator());
}

#[test]
fn faults_are_told_with_their_place() {
    let place = |text: &str| {
        let faults = check(text).expect_err(text);
        (faults[0].line, faults[0].column)
    };
    assert_eq!(place("permit (principal, action, resource)\nwhen { principal.mood == 1 };"), (2, 8));
    assert_eq!(place("forbid (principal, action, resource)\n  wen { true };").0, 2);
    assert_eq!(place("\nforbid (principal in Projekt::\"x\", action, resource);").0, 2);
    assert_eq!(place("forbid (principal, action == Action::\"cal\", resource);").0, 1);
    for bad in [
        "",
        "// nothing",
        "permit (principal == ?principal, action, resource);",
        "forbid (principal, action, resource) when { context.numbers.getTag(\"a\") > 1 };",
        "forbid (principal, action, resource) when { 1 };",
        "forbid (principal, action, resource) when { context.hour == \"10\" };",
        "forbid (principal, action, resource) when { ip(1) };",
        &"forbid (principal, action, resource);\n".repeat(51),
        &format!("forbid (principal, action, resource) when {{ \"{}\" == \"\" }};", "x".repeat(MAX_TEXT)),
        &format!("forbid (principal, action, resource) when {{ {} }};", "(".repeat(8_000)),
        &format!(
            "forbid (principal, action, resource) when {{ {}true{} }};",
            "(".repeat(7_000),
            ")".repeat(7_000)
        ),
        &format!("forbid (principal, action, resource) when {{ true{} }};", " && true".repeat(1_900)),
        &format!("forbid (principal, action, resource) when {{ 1{} > 1 }};", "+1".repeat(7_000)),
        &format!(
            "forbid (principal, action, resource) when {{ {}true }};",
            "if true then true else ".repeat(600)
        ),
        &format!("forbid (principal, action, resource) when {{ principal{} }};", ".a".repeat(7_000)),
        "forbid (principal, action, resource) when { \u{0} };",
    ] {
        match check(bad) {
            Err(faults) => {
                assert!(faults.iter().all(|f| f.line > 0 && f.column > 0 && !f.message.is_empty()))
            }
            Ok(_) => panic!("{bad}"),
        }
    }
    let good = check(
        "permit (principal, action, resource);\nforbid (principal in Project::\"a\", action, resource);",
    );
    let good = good.expect("good");
    assert_eq!((good.permits, good.forbids), (1, 1));
    assert!(good.names.contains(&("Project".to_owned(), "a".to_owned())), "{:?}", good.names);
    let never = check("forbid (principal, action, resource) when { resource.name == 1 };");
    assert!(never.is_err() || never.is_ok_and(|checked| !checked.warnings.is_empty()));
}

/// Statements are called after their policy, by their place in the text.
#[test]
fn statements_have_names() {
    let text = "permit (principal, action, resource);\nforbid (principal, action, resource) when { context.hour < 24 };";
    assert_eq!(decide(text, &[]).policies, ["policy:house#2"]);
}

fn any_grant() -> impl Strategy<Value = Grant> {
    let globs = prop::sample::select(vec!["*", "get_*", "get_issue", "?et_issue", "set_*", "*_issue", "x"]);
    let times = prop::option::of(0i64..2_000);
    let calls = prop::option::of((0i64..3, 0i64..3));
    (1u128..50, prop::collection::vec(globs, 1..3), times.clone(), times, calls, any::<bool>()).prop_map(
        |(number, globs, expires, revoked, calls, elsewhere)| {
            let mut made = grant(number, &globs);
            made.expires_at = expires.map(Micros);
            made.revoked_at = revoked.filter(|at| at % 3 == 0).map(Micros);
            made.max_calls = calls.map(|(most, _)| most);
            made.used_calls = calls.map_or(0, |(most, used)| used.min(most));
            if elsewhere && number % 3 == 0 {
                made.connection = ConnectionId::new(Uuid::from_u128(2));
            }
            made
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// For grants alone, the plain matcher and Cedar give the same answer, and Cedar names the grant of record.
    #[test]
    fn the_plain_matcher_agrees_with_cedar(
        grants in prop::collection::vec(any_grant(), 0..12),
        tool in prop::sample::select(vec!["get_issue", "set_issue", "get", "x", "other"]),
        now in 0i64..2_000,
    ) {
        let mut grants = grants;
        grants.sort_by_key(|grant| grant.id);
        grants.dedup_by_key(|grant| grant.id);
        let now = Micros(now);
        let ranked = ranked(&grants, github(), tool);
        let in_force: Vec<&Grant> =
            ranked.iter().copied().filter(|grant| refusal(grant, now).is_none()).collect();
        let set = PolicySet::build(subject(), &grants, []).expect("grants alone");
        let class = EffectClass::Read;
        let call = Call { connection: "github", tool, class, now, grants: &in_force, shown: &[] };
        let verdict = set.decide(&call);
        match choose(&ranked, now) {
            Decision::Allow { grant } => {
                prop_assert_eq!(verdict.effect, Effect::Permit);
                let of_record = format!("grant:{}", grant.id);
                prop_assert!(verdict.policies.contains(&of_record));
                prop_assert_eq!(verdict.policies.len(), in_force.len());
            }
            Decision::Refuse(_) => {
                prop_assert_eq!(verdict.effect, Effect::Nothing);
                prop_assert!(verdict.policies.is_empty());
            }
        }
    }
}

/// What the page shows is true.
#[test]
fn the_pages_examples_are_policies() {
    let page = include_str!("../../../../docs/policies.md");
    let examples: Vec<&str> =
        page.split("```cedar\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        let checked = check(example).unwrap_or_else(|faults| panic!("{example}: {faults:?}"));
        assert!(checked.warnings.is_empty(), "{example}: {:?}", checked.warnings);
    }
    for line in TEMPLATE.lines() {
        assert!(page.contains(line), "{line}");
    }
}
