//! A real agent runtime.
