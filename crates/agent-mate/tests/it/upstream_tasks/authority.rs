//! A record is asked for under the authority that stands, and not without.

use super::{
    asked, assert_by_record, kill_the_session, named, of_events, over_http, unknown_of, until_settled,
};
use crate::harness::{Store, on_both_stores, until};
use serde_json::json;

on_both_stores!(
    g07_a_record_whose_grant_was_revoked_is_not_asked_for,
    g07_a_grant_whose_calls_are_used_up_stands
);

fn g07_a_record_whose_grant_was_revoked_is_not_asked_for(store: Store) {
    let (world, _remote, grant) = over_http(store, &[]);
    let task = named(&world, 4);
    world.ok(&["grant", "revoke", &grant]);
    kill_the_session(&world);
    let operation = unknown_of(&world, &task);
    let before = asked(&world, "tasks/get");
    let said =
        until("a look that is not taken", || of_events(&world, &task, "operation.verified", "detail").pop());
    assert!(said.contains("not asked") && said.contains("(`job`)"), "{said}");
    assert_eq!(of_events(&world, &task, "operation.look_admitted", "grant"), Vec::<String>::new());
    until("the effect", || (world.count("end", "job") == 1).then_some(()));
    assert_eq!((asked(&world, "tasks/get"), asked(&world, "tasks/result")), (before, 0), "nothing was asked");
    assert_eq!(world.ok(&["operation", "show", &operation])["state"], "unknown");
    // Granted again, the next look is taken.
    world.grant("demo", "job");
    world.ok(&["operation", "verify", &operation]);
    assert_by_record(&until_settled(&world, &operation), "succeeded");
}

fn g07_a_grant_whose_calls_are_used_up_stands(store: Store) {
    let (world, _remote, grant) = over_http(store, &[]);
    world.ok(&["grant", "revoke", &grant]);
    let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "job"];
    world.ok(&[&words[..], &["--max-calls", "1"]].concat());
    let task = named(&world, 1);
    kill_the_session(&world);
    let operation = unknown_of(&world, &task);
    assert_by_record(&until_settled(&world, &operation), "succeeded");
    world.until_ended(&task, 5);
    assert_eq!(world.count("begin", "job"), 1);
    assert_eq!(world.ok(&["operation", "show", &operation])["tool"], json!("job"));
}
