//! A change of the home's key that is cut off: whatever was sealed opens, and it can be run again.

use super::{
    faults::Faults,
    kill::Kill,
    play::Cells,
    scene::{Plan, encore},
};
use crate::{
    crash::{checker::assert_holds, history::Promise, records::Records},
    harness::{Process, Store, World, id, program, run},
};
use mate_model::task::TaskStateWord;
use std::thread;

pub(super) fn rotating(store: Store, plan: Plan) -> Cells {
    let mut world = World::new(store);
    let faults = Faults::of(&world);
    let mut records = Records::of(&world);
    let verb = if matches!(plan.point, "key.retired" | "key.trimmed") { "retire" } else { "rotate" };
    if verb == "retire" {
        world.ok(&["key", "rotate"]);
    }
    faults.arm(plan.point, plan.role, plan.number);
    let command = world.command(&["--json", "key", verb]);
    let asking = thread::spawn(move || run(command, None));
    let held = faults.until_held(plan.point);
    Process { pid: held, command: program().to_owned() }.kill();
    assert_ne!(asking.join().expect("it ran").code, 0);
    faults.clear();
    // The coordinator that was there all the time, and one that begins now.
    for fresh in [false, true] {
        if fresh {
            world.kill_serve();
            world.start_serve();
        }
        let words = encore(&format!("{} {fresh}", plan.point));
        let task = id(&world.ok(&["task", "add", "--project", "default", "--approve", &words]));
        assert_eq!(records.until_classified(&task), TaskStateWord::Completed, "{}", world.task(&task));
        records.promises.push(Promise::Task(task));
    }
    world.ok(&["key", "rotate"]);
    world.ok(&["key", "retire"]);
    assert_eq!(world.ok(&["key", "show"])["items"].as_array().map(Vec::len), Some(1));
    assert_holds(plan.point, &records.history(&world));
    let cell = |kill| match kill {
        Kill::Itself => "holds".to_owned(),
        Kill::Everything => "= itself".to_owned(),
        Kill::Worker | Kill::Runtime | Kill::Upstream => "nobody there".to_owned(),
    };
    Kill::ALL.into_iter().map(|kill| (kill, cell(kill))).collect()
}
