//! The one integration-test binary of the product. Each module is one subject.

mod repository;
