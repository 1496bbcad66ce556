//! The ledger and the journal on both engines.

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod continuing;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod differential;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod journal_fence;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod ledger_log;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod pairs;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod resolutions;
#[cfg(test)]
mod strict;
#[cfg(test)]
mod support;
