//! The one integration-test binary of the product. Each module is one subject.

// `cfg(test)` is always on here; it tells the linter that helpers of tests may panic as tests do.
#[cfg(test)]
mod harness;

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod artifacts;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod authority;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod confinement;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod containing;
// Built with fault points by `./test`; a repository check sees to that.
#[cfg(test)]
#[cfg(feature = "faults")]
mod crash;
#[cfg(test)]
mod dashboard;
#[cfg(test)]
mod deadlines;
#[cfg(test)]
mod death;
#[cfg(test)]
mod first_light;
#[cfg(test)]
mod foresight;
#[cfg(test)]
mod generated;
#[cfg(test)]
mod going_on;
#[cfg(test)]
mod held;
#[cfg(test)]
mod homes;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod loss;
#[cfg(test)]
mod mended;
#[cfg(test)]
mod new_era;
#[cfg(test)]
mod oauth;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod outcomes;
#[cfg(test)]
mod pins;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod real;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod repository;
#[cfg(test)]
mod resolving;
#[cfg(test)]
mod resuming;
// Built with fault points, as the crash tests are.
#[cfg(test)]
#[cfg(feature = "faults")]
mod revocation;
#[cfg(test)]
mod rotating;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod service;
#[cfg(test)]
mod spending;
#[cfg(test)]
mod stopping;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod survival;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod top;
#[cfg(test)]
mod upstream_tasks;
#[cfg(test)]
mod verifying;
