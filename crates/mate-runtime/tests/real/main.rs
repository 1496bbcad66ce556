//! Real processes in real containers. This binary is also the keeper, a worker and a runtime, so it
//! has a harness of its own that speaks enough of the usual one for `cargo test` and nextest.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test is allowed to fail; this binary has no `#[test]` that would tell the linter"
)]

use std::{process::ExitCode, sync::Arc};

type Case = (&'static str, fn());

/// Names the tests of a module.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const CASES: &[$crate::Case] = &[$((stringify!($name), || $crate::surroundings::block_on($name()))),*];
    };
}

pub(crate) use cases;

mod confining;
mod containing;
mod mcp_server;
mod peers;
mod surroundings;
mod talking;
mod zoo;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|word| word.to_str()) {
        Some("keeper") => mate_runtime::container::keeper_main(args, &surroundings::SystemClock),
        Some("scripted-runtime") => alone(mate_demo::scripted_runtime_main(args)),
        Some("effect-server") => {
            let words = args.map(|arg| arg.into_string().unwrap());
            let options = mate_demo::EffectOptions::parse(words).unwrap();
            alone(mate_demo::effect_server_main(options, Arc::new(surroundings::SystemClock)))
        }
        Some("play-burglary") => confining::play_burglary(args),
        Some("play-zoo-worker") => zoo::play_zoo_worker(args),
        Some("play-worker") => containing::play_worker(args),
        _ => harness(),
    }
}

fn alone(program: impl Future<Output = ExitCode>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let code = runtime.block_on(program);
    // A read of standard input that never ends must not hold the end up.
    runtime.shutdown_background();
    code
}

fn harness() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let cases = containing::CASES
        .iter()
        .chain(confining::CASES)
        .chain(talking::CASES)
        .chain(peers::CASES)
        .chain(zoo::CASES);
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            cases.for_each(|(name, _)| println!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    let exact = args.iter().any(|arg| arg == "--exact");
    let wanted = args.iter().find(|arg| !arg.starts_with('-'));
    let mut failed = 0;
    for (name, case) in cases {
        if wanted.is_some_and(|w| if exact { name != w } else { !name.contains(w.as_str()) }) {
            continue;
        }
        let passed = std::panic::catch_unwind(case).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += u32::from(!passed);
    }
    ExitCode::from(u8::from(failed > 0))
}
