//! The command line against a coordinator that answers as it is told to, over a real socket.

mod coordinator;
mod following;
mod verbs;
