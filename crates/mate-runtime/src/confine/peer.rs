//! Who is at the other end of a connection: something of a session, or somebody else.

use super::{
    family::{Family, is_of_a_session},
    sockets::{self, holds},
};
use std::{fs, io, net::SocketAddr};

/// Whether the client of a connection over the loopback interface belongs to no session.
///
/// The client's end is found in the kernel's table, and then the process that holds it open. One that is closed
/// already, or that nobody holds although its holder must be visible, is taken for a session's. Looks at every
/// process at worst, which takes some milliseconds: ask once for each connection.
///
/// # Errors
/// When the kernel's tables cannot be read.
pub fn client_is_outside(client: SocketAddr, server: SocketAddr) -> io::Result<bool> {
    let family = Family::now()?;
    let inside = family.inside();
    if inside.is_empty() {
        return Ok(true);
    }
    let Some(socket) = sockets::find(client, server)? else { return Ok(false) };
    let own = rustix::process::geteuid().as_raw();
    if own != 0 && socket.user != own {
        // Where this is not root, everything of a session has this user.
        return Ok(true);
    }
    let mut closed_inside = false;
    for pid in inside {
        match holds(pid, socket.inode) {
            Ok(true) => return Ok(false),
            Ok(false) => {}
            Err(error) => closed_inside |= is_closed(&error) && !family.is_no_client(pid),
        }
    }
    let mut closed_outside = false;
    for pid in family.outside() {
        match holds(pid, socket.inode) {
            // A number may have gone to another process meanwhile.
            Ok(true) => return Ok(!is_of_a_session(pid)),
            Ok(false) => {}
            // Else it has ended.
            Err(error) => {
                closed_outside |= is_closed(&error) && !family.is_no_client(pid) && is_users(pid, own);
            }
        }
    }
    // What forwards connections for this user, such as sshd, may be closed to it. So may be a program of a session, which
    // can close itself: when it can have been either, it is refused.
    Ok(closed_outside && !closed_inside)
}

fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn is_users(pid: i32, user: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    users.split_ascii_whitespace().any(|word| word.parse() == Ok(user))
}
