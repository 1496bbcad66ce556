//! The kernel's table of TCP connections, and who holds their ends.

use std::{
    fmt::Write as _,
    fs, io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    /// The user who made it.
    pub(super) user: u32,
    /// Its number among the kernel's files.
    pub(super) inode: u64,
}

/// The end of a connection that is at `here` and leads to `there`, if somebody holds it open.
pub(super) fn find(here: SocketAddr, there: SocketAddr) -> io::Result<Option<Socket>> {
    let (here, there) = (canonical(here), canonical(there));
    let narrow = [here, there].map(written);
    let wide = [here, there]
        .map(|address| written(SocketAddr::new(IpAddr::V6(as_v6(address.ip())), address.port())));
    for (table, [here, there]) in [("/proc/net/tcp", narrow), ("/proc/net/tcp6", wide)] {
        let text = match fs::read_to_string(table) {
            Ok(text) => text,
            // Without IPv6 there is no second table.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if let Some(found) = text.lines().find_map(|line| parse(line, &here, &there)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn parse(line: &str, here: &str, there: &str) -> Option<Socket> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    if fields.next()? != here || fields.next()? != there {
        return None;
    }
    let user = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    // One that nobody holds has no number.
    (inode != 0).then_some(Socket { user, inode })
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// As the kernel's tables write it: words of four bytes, each in the machine's own order.
fn written(address: SocketAddr) -> String {
    let bytes = match address.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let mut text = String::new();
    for word in bytes.as_chunks::<4>().0 {
        // Writing to a text does not fail.
        let _ = write!(text, "{:08X}", u32::from_ne_bytes(*word));
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

/// Whether a process holds the socket with this number open.
pub(super) fn holds(pid: i32, inode: u64) -> io::Result<bool> {
    let wanted = PathBuf::from(format!("socket:[{inode}]"));
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        match fs::read_link(entry?.path()) {
            Ok(target) if target == wanted => return Ok(true),
            // Closed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn both_kinds_of_address_are_found_with_their_holder() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let server = listener.local_addr().unwrap();
            let client = TcpStream::connect(server).unwrap();
            let (accepted, from) = listener.accept().unwrap();
            let found = find(from, accepted.local_addr().unwrap()).unwrap().expect("it is there");
            let own = i32::try_from(std::process::id()).unwrap();
            assert!(holds(own, found.inode).unwrap());
            assert!(!holds(own, found.inode + 1_000_000).unwrap());
            assert_eq!(found.user, rustix::process::geteuid().as_raw());
            drop(client);
            // An end that was closed is held by nobody.
            assert_eq!(find(from, server).unwrap(), None);
        }
    }
}
