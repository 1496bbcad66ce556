//! The one integration-test binary of the product. Each module is one subject.

// `cfg(test)` is always on here; it tells the linter that helpers of tests may panic as tests do.
#[cfg(test)]
mod repository;
