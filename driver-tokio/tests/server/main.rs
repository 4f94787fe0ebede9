//! The S3 stores of both drivers against the fault server, which verifies signatures with the provider's own code.

mod aws;
mod both;
mod budgets;
mod effects;
mod refused;
mod signatures;
mod trouble;
