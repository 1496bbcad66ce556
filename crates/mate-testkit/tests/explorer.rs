//! The explorer over the protocol as it is, and over the protocol with one rule broken.
use mate_testkit::explorer::*;

#[test]
fn size() {
    for stores in [Stores::Embedded, Stores::Shared] {
        for (c, f) in [(0, 0), (1, 0), (2,0), (1, 1)] {
            let t = std::process::Command::new("date").arg("+%s.%N").output().unwrap();
            let report = explore(Config::new(stores).with_faults(c, f));
            eprintln!(
                "{stores:?} {c} {f}: {} states {} steps at {}",
                report.states,
                report.steps,
                String::from_utf8_lossy(&t.stdout)
            );
            if let Some(v) = &report.violation {
                eprintln!("{v}");
                return;
            }
        }
    }
}
