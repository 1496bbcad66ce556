//! The explorer over the protocol as it is, and over the protocol with one rule broken.
use mate_testkit::explorer::*;
use mate_model::words::EffectClass;

fn run(name: &str, config: Config) {
            let report = explore(config);
            let t = std::process::Command::new("date").arg("+%s.%N").output().unwrap();
            eprintln!("{name} {:?}: {} states {} steps at {}", config.stores, report.states, report.steps, String::from_utf8_lossy(&t.stdout));
            if let Some(v) = &report.violation { eprintln!("{v}"); return; }
            for (cut, set) in &report.cuts { eprintln!("{cut:?} -> {:?}", words(*set)); }
}
#[test]
fn size() {
    let t = |class, approval| Tool { class, approval };
    for stores in [Stores::Embedded, Stores::Shared] {
            run("2 0", Config::new(stores).with_faults(2, 0));
            run("1 1", Config::new(stores).with_faults(1, 1));
            run("0 1", Config::new(stores).with_faults(0, 1));
            run("1 0 full", Config::new(stores).with_faults(1, 0).in_full());
            run("1 0 read/approval full", Config::new(stores).with_faults(1, 0).with_tools([t(EffectClass::Read, false), t(EffectClass::Effect, true)]).in_full());
            run("0 1 read/approval", Config::new(stores).with_faults(0, 1).with_tools([t(EffectClass::Read, false), t(EffectClass::Effect, true)]));
    }
}
