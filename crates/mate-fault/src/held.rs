//! Holding a process at a point.

use crate::VARIABLE;
use std::{
    collections::HashMap,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

/// How often a held process looks whether it may go on.
const PAUSE: Duration = Duration::from_millis(2);
/// How often it looks at most: about a minute.
const LOOKS: u32 = 30_000;

/// The variable and its value, for a child whose surroundings are named one by one.
#[must_use]
pub fn handed_on() -> Option<(&'static str, OsString)> {
    env::var_os(VARIABLE).map(|value| (VARIABLE, value))
}

/// Waits at the point if it is armed for this reach. Blocks the thread.
pub fn hold(name: &'static str) {
    if let Some(go) = reached(name) {
        wait(&go);
    }
}

/// Waits at the point if it is armed for this reach. Holds the task alone.
pub async fn hold_async(name: &'static str) {
    if let Some(go) = reached(name) {
        Held::until(go).await;
    }
}

pub(crate) fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(|| env::var_os(VARIABLE).map(PathBuf::from)).as_deref()
}

/// Counts the reach; the file to wait for, if this reach is the one that is meant.
fn reached(name: &'static str) -> Option<PathBuf> {
    static REACHES: Mutex<Option<HashMap<&'static str, u64>>> = Mutex::new(None);
    let folder = folder()?;
    if let Ok(slow) = fs::read_to_string(folder.join(format!("{name}.slow"))) {
        thread::sleep(Duration::from_millis(slow.trim().parse().unwrap_or_default()));
    }
    let armed = folder.join(name);
    let meant = fs::read_to_string(&armed).ok()?;
    let mut words = meant.split_whitespace();
    let (role, number) = (words.next(), words.next().and_then(|number| number.parse().ok()).unwrap_or(1));
    if role.is_some_and(|role| !env::args_os().any(|argument| argument == role)) {
        return None;
    }
    let reach = {
        let mut reaches = REACHES.lock().unwrap_or_else(PoisonError::into_inner);
        let count = reaches.get_or_insert_default().entry(name).or_insert(0);
        *count += 1;
        *count
    };
    if reach != number {
        return None;
    }
    // Whoever renames it is the one that is held.
    let hit = folder.join(format!("{name}.hit.{}", std::process::id()));
    fs::rename(&armed, hit).ok()?;
    if let Ok(mut reaches) = REACHES.lock() {
        reaches.get_or_insert_default().remove(name);
    }
    Some(folder.join(format!("{name}.go")))
}

fn wait(go: &Path) {
    for _ in 0..LOOKS {
        if go.exists() {
            break;
        }
        thread::sleep(PAUSE);
    }
    // Tells that nobody is held any more.
    let _ = fs::remove_file(go.with_extension(format!("hit.{}", std::process::id())));
}

/// A wait on a thread of its own, so that this crate needs no runtime.
struct Held(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    over: bool,
    waker: Option<Waker>,
}

impl Held {
    fn until(go: PathBuf) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let theirs = Arc::clone(&state);
        thread::spawn(move || {
            wait(&go);
            let mut state = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            state.over = true;
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        });
        Self(state)
    }
}

impl Future for Held {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.over {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
