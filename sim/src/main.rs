//! `cargo sim`: runs simulated worlds and prints what they met.

fn main() {}
