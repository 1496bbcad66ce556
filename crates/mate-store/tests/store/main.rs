//! The port, its two drivers and the migrations, against real files and a real server.

mod bells;
mod concurrent;
mod conformance;
mod disk;
mod durability;
mod migrations;
mod server;
mod support;
