//! Confining the keeper's inner process, and with it all that it starts.

use super::{
    Confined, Confinement, cgroups, devices, hide,
    landlock::{self, Rules},
    pins, rights, system, ways_out,
};
use crate::container::kernel;
use mate_model::confinement::{ConfinementMeans, ConfinementMode, WantedMeans};
use std::{fs, io, thread};

/// What the keeper holds of its confinement.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    /// Put on each program by itself.
    each: Option<Rules>,
}

impl Fence {
    /// Starts a program with the rules that hold for each by itself.
    ///
    /// # Errors
    /// When the rules cannot be put on; then nothing was started.
    pub(crate) fn start<T: Send>(&self, start: impl FnOnce() -> T + Send) -> io::Result<T> {
        let Some(rules) = &self.each else { return Ok(start()) };
        // Rules are of the thread that takes them, and of what that starts.
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, || {
                rules.put_on_this_thread()?;
                Ok(start())
            })?;
            thread.join().map_err(|_| io::Error::other("the program's starter ended"))?
        })
    }
}

/// Confines the calling process, which must have one thread, as told. What it starts cannot get out.
///
/// # Errors
/// When it is required and there is no means; the text says what to do.
pub(crate) fn enter(told: &Confinement) -> io::Result<(Fence, Confined)> {
    if told.mode == ConfinementMode::Off {
        return Ok((Fence::default(), Confined::not()));
    }
    let mut refused = Vec::new();
    if told.means != WantedMeans::Landlock {
        match by_mounts(told) {
            Ok(each) => {
                let apart = each.is_some();
                return Ok((
                    Fence { each },
                    Confined { means: ConfinementMeans::MountNamespace, apart, not_stronger: None },
                ));
            }
            Err(error) => refused.push(format!("a mount namespace: {error}")),
        }
    }
    if told.means != WantedMeans::MountNamespace {
        match by_landlock(told) {
            Ok(each) => {
                let not_stronger = (!refused.is_empty()).then(|| refused.join("; "));
                return Ok((
                    Fence { each: Some(each) },
                    Confined { means: ConfinementMeans::Landlock, apart: true, not_stronger },
                ));
            }
            Err(error) => refused.push(format!("Landlock: {error}")),
        }
    }
    Err(io::Error::other(format!(
        "the session cannot be confined ({}): see docs/confinement.md, or set `mode = \"off\"` under `[confinement]` \
         in config.toml to let runtimes read Agent Mate's own files",
        refused.join("; ")
    )))
}

fn by_mounts(told: &Confinement) -> io::Result<Option<Rules>> {
    kernel::own_mounts()?;
    let ways = hide::every_way(&told.hide)?;
    pins::set(&ways)?;
    ways_out::close(&told.show)?;
    cgroups::close()?;
    hide::cover(&ways, &told.keep)?;
    if rustix::process::getuid().is_root() {
        system::protect()?;
    }
    devices::replace()?;
    let each = landlock::apart().unwrap_or(None);
    if each.is_none() && rustix::process::getuid().is_root() && !sees_own_processes_only() {
        // As the user of any process outside, root could go through that one's view of the files.
        return Err(io::Error::other(
            "root sees processes outside of the session, and this kernel cannot keep programs apart (Linux 6.12 can)",
        ));
    }
    rights::give_up()?;
    Ok(each)
}

/// Whether `/proc` is that of the container, whose first process this is.
fn sees_own_processes_only() -> bool {
    std::process::id() == 1 && fs::read_link("/proc/self").is_ok_and(|own| own.as_os_str() == "1")
}

fn by_landlock(told: &Confinement) -> io::Result<Rules> {
    if rustix::process::getuid().is_root() {
        return Err(io::Error::other("it cannot hold root, who can change the system's settings"));
    }
    let ways = hide::every_way(&told.hide)?;
    let closed = [ways, cgroups::points()?].concat();
    let rules = landlock::all_but(&hide::real(&closed)?, &told.keep)?;
    rights::give_up()?;
    Ok(rules)
}
