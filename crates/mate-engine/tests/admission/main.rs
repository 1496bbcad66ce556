//! The admission desk on real stores, without a runtime and without an upstream: what is judged and what is written.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod closing;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod rounds;
