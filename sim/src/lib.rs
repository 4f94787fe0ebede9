//! A deterministic simulator: thousands of worlds in which the shipping engine must keep one owner.

pub mod conformance;
