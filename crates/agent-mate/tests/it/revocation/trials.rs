//! Calls every 10 ms in several sessions, while a grant is revoked and given again, with every notification cut.
//!
//! Nothing is compared by clocks. The callers append a line to one file before each call, and so does the test when a
//! revocation has returned, and before the next grant is asked for: the file's order is the order of what happened. Each
//! call that was noted between these two is a trial: the upstream's own log must not know it.

use crate::{
    crash::Faults,
    harness::{Store, World, id, on_both_stores, until},
};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    thread,
    time::Duration,
};

const SESSIONS: usize = 6;
/// How many calls are issued at least between a revocation and the next grant.
const IN_VAIN: usize = 100;

on_both_stores!(g07_a_call_that_is_issued_after_the_revocation_never_reaches_the_upstream);

fn trials(store: Store) -> usize {
    match store {
        Store::Sqlite => 10_000,
        Store::Postgres => 1_000,
    }
}

struct Rounds<'a> {
    world: &'a World,
    token: String,
    number: u64,
}

impl Rounds<'_> {
    fn mark(&self, text: &str) {
        let mut file = OpenOptions::new();
        let mut file = file.create(true).append(true).open(self.world.path("issued.log")).expect("open");
        file.write_all(format!("{text}\n").as_bytes()).expect("written");
    }

    /// Grants, lets calls through for a moment, revokes, and leaves it revoked for some calls.
    fn round(&mut self) {
        self.number += 1;
        let body = json!({ "project": "default", "connection": "demo", "tools": ["note"] }).to_string();
        self.mark("# granting");
        let grant = id(&self.world.asked(&self.token, "POST", "/api/v1/grants", &body, 201));
        thread::sleep(Duration::from_millis(3 + self.number * 7 % 25));
        // Now and then as a person does it.
        if self.number.is_multiple_of(20) {
            self.world.ok(&["grant", "revoke", &grant]);
        } else {
            let path = format!("/api/v1/grants/{grant}/revoke");
            self.world.asked(&self.token, "POST", &path, "{}", 200);
        }
        self.mark("# revoked");
        let before = fs::metadata(self.world.path("issued.log")).expect("the log").len();
        until("calls in vain", || {
            let mut file = fs::File::open(self.world.path("issued.log")).expect("the log");
            file.seek(SeekFrom::Start(before)).expect("found");
            let mut text = String::new();
            file.read_to_string(&mut text).expect("read");
            (text.lines().count() >= IN_VAIN).then_some(())
        });
    }
}

/// The calls that were issued while nothing was granted.
fn issued_in_vain(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("issued.log")).unwrap_or_default();
    let mut revoked = false;
    let mut all = Vec::new();
    for line in text.lines() {
        match line {
            "# granting" => revoked = false,
            "# revoked" => revoked = true,
            call if revoked => all.push(call.to_owned()),
            _ => {}
        }
    }
    all
}

fn arrived(world: &World) -> HashSet<String> {
    let begun = world.effects().into_iter().filter(|line| line["kind"] == "begin" && line["tool"] == "note");
    begun.map(|line| line["key"].as_str().unwrap_or_default().to_owned()).collect()
}

fn g07_a_call_that_is_issued_after_the_revocation_never_reaches_the_upstream(store: Store) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    drop(Faults::of(&world));
    fs::write(world.path("faults").join("notices.cut"), "").expect("cut");
    // Something is granted all the time, so that the tools' server runs.
    world.grant("demo", "echo");
    let tasks: Vec<String> = (0..SESSIONS).map(|number| id(&world.submit(&steps(&world, number)))).collect();
    until("every session's first call", || {
        let text = fs::read_to_string(world.path("issued.log")).unwrap_or_default();
        (0..SESSIONS).all(|number| text.contains(&format!("s{number} "))).then_some(())
    });
    let mut rounds = Rounds { world: &world, token: world.own_token(), number: 0 };
    while issued_in_vain(&world).len() < trials(store) {
        (0..5).for_each(|_| rounds.round());
        assert!(rounds.number < 5_000, "too few calls are made: {}", issued_in_vain(&world).len());
    }
    fs::write(world.path("enough"), "").expect("written");
    for task in &tasks {
        assert_eq!(world.wait(task).1, 0, "{}", world.task(task));
    }
    let (vain, arrived) = (issued_in_vain(&world), arrived(&world));
    let leaked: Vec<_> = vain.iter().filter(|call| arrived.contains(*call)).collect();
    assert!(leaked.is_empty(), "{} of {} reached the upstream: {leaked:?}", leaked.len(), vain.len());
    // While something was granted, calls did get through: the proof is not that nothing worked.
    let rounds = usize::try_from(rounds.number).expect("a number");
    assert!(arrived.len() > rounds, "{} calls arrived in {rounds} rounds", arrived.len());
    eprintln!("{} trials in {rounds} rounds, {} calls let through", vain.len(), arrived.len());
}

fn steps(world: &World, number: usize) -> Value {
    json!([
        {"again": {
            "tool": "demo__note", "every_ms": 10, "name": format!("s{number}"),
            "log": world.path("issued.log"), "until": world.path("enough"),
        }},
        {"text": "done"},
    ])
}
