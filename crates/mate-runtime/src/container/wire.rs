//! What the worker and the keeper say to each other: a length, then that many bytes of JSON.
//! The three pipes of a program travel with the length of its request.

use super::{Exit, Launch, SignalKind};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// More than the kernel takes as arguments and environment, so that it is the kernel that refuses.
const LARGEST: usize = 32 << 20;

/// From the worker to process 1.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    Spawn { id: u64, launch: Launch },
    Signal { id: u64, signal: SignalKind },
    KillAll,
    Count { id: u64 },
}

/// From the keeper to the worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The outer process: the container is there and on record.
    Contained {
        container: super::ContainerRecord,
    },
    /// The outer process: there will be no container.
    NotContained {
        why: String,
    },
    Spawned {
        id: u64,
        pid: i32,
    },
    SpawnFailed {
        id: u64,
        why: String,
    },
    Exited {
        id: u64,
        exit: Exit,
    },
    Counted {
        id: u64,
        processes: usize,
    },
    /// The session was over one of its limits.
    Breached {
        breach: super::Breach,
    },
}

/// Sends one message, with pipes if there are any.
pub(super) fn send<T: Serialize>(socket: impl AsFd, message: &T, pipes: &[BorrowedFd<'_>]) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok().filter(|n| *n as usize <= LARGEST);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "message too long"))?;
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend_from_slice(&body);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !pipes.is_empty() && !control.push(SendAncillaryMessage::ScmRights(pipes)) {
        return Err(io::Error::other("too many pipes for one message"));
    }
    let mut sent = 0;
    while let Some(rest) = frame.get(sent..).filter(|rest| !rest.is_empty()) {
        match sendmsg(&socket, &[IoSlice::new(rest)], &mut control, SendFlags::NOSIGNAL) {
            Ok(count) => sent += count,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        // The pipes went with the first bytes.
        control.clear();
    }
    Ok(())
}

/// Receives one message and its pipes; `None` at the end of the stream.
pub(super) fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut pipes = Vec::new();
    let mut head = [0; 4];
    if !fill(&socket, &mut head, &mut pipes)? {
        return Ok(None);
    }
    let length = u32::from_be_bytes(head) as usize;
    if length > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "message too long"));
    }
    let mut body = vec![0; length];
    if !fill(&socket, &mut body, &mut pipes)? {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((serde_json::from_slice(&body)?, pipes)))
}

/// Fills the buffer; `false` when the stream ended before its first byte.
fn fill(socket: &impl AsFd, buffer: &mut [u8], pipes: &mut Vec<OwnedFd>) -> io::Result<bool> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(socket, &mut [IoSliceMut::new(rest)], &mut control, RecvFlags::CMSG_CLOEXEC);
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                pipes.extend(received);
            }
        }
        match received {
            Ok(message) if message.bytes == 0 && filled == 0 => return Ok(false),
            Ok(message) if message.bytes == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(message) => filled += message.bytes,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}
