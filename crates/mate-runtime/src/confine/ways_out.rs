//! Sockets of services that run programs for whoever asks: what they start would be in no container and behind no fence.

use super::hide;
use std::{io, path::PathBuf};

/// Service managers, message buses, container engines, terminals that can be typed into.
const SERVICES: &[&str] = &[
    "/run/systemd/private",
    "/run/systemd/io.systemd.Manager",
    "/run/dbus",
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/libvirt",
    "/run/lxd.socket",
    "/run/incus",
    "/run/snapd.socket",
    "/run/screen",
    "/run/tmux",
    "/var/snap/lxd/common/lxd",
    "/var/lib/incus/unix.socket",
    "/tmp/.X11-unix",
];

/// Hides them, but for those that are to be shown.
pub(super) fn close(show: &[PathBuf]) -> io::Result<()> {
    let user = rustix::process::getuid().as_raw();
    let own = [format!("/run/user/{user}"), format!("/tmp/tmux-{user}")];
    let named = SERVICES.iter().map(PathBuf::from).chain(own.iter().map(PathBuf::from));
    let shown = hide::real(show)?;
    for path in hide::real(&named.collect::<Vec<_>>())? {
        if shown.iter().any(|shown| shown.starts_with(&path)) {
            continue;
        }
        hide::empty(&path).map_err(|error| hide::named(&path, error))?;
    }
    Ok(())
}
