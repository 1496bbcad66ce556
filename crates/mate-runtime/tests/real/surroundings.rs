//! What the tests share: a clock, a folder, an environment, and waiting for conditions.

use mate_model::{Clock, Micros};
use mate_runtime::confine::Confinement;
use mate_runtime::container::{Container, ContainerError, ContainerSpec, Identity, Launch};
use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[derive(Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "tests are a program of their own")]
    fn now(&self) -> Micros {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> i64 {
        self.now().0
    }
}

pub(crate) fn block_on(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(90), case).await.expect("the test hangs");
    });
}

pub(crate) async fn confined(folder: &Path, confinement: Confinement) -> Result<Container, ContainerError> {
    let spec = ContainerSpec {
        confinement,
        ..ContainerSpec::new(std::env::current_exe().unwrap(), folder.to_owned())
    };
    Container::start(&spec).await
}

pub(crate) async fn container(folder: &Path) -> Container {
    confined(folder, Confinement::off()).await.unwrap()
}

pub(crate) fn launch(cwd: &Path, argv: &[&str]) -> Launch {
    let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8")];
    Launch {
        argv: argv.iter().map(|&word| word.to_owned()).collect(),
        env: env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        cwd: cwd.to_owned(),
    }
}

pub(crate) fn shell(cwd: &Path, script: &str) -> Launch {
    launch(cwd, &["/bin/sh", "-c", script])
}

/// Waits until the condition holds, looking often; fails after 30 s.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never came true: {what}");
}

/// The processes whose command line or environment holds `mark`, wherever they live.
pub(crate) fn marked(mark: &str) -> Vec<Identity> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if entry.file_name().to_str() == Some(own.as_str()) {
            continue;
        }
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(mark)
            && let Ok(identity) = Identity::of(pid)
            && identity.is_alive().unwrap_or(true)
        {
            found.push(identity);
        }
    }
    found
}
