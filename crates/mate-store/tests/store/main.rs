//! The port, its two drivers and the migrations, against real files and a real server.

#[cfg(test)]
mod bells;
#[cfg(test)]
mod concurrent;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod cut;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod server;
#[cfg(test)]
mod support;
