//! Properties that must hold whatever bytes arrive: one function per target, `check(&[u8])`, which panics when its
//! property is broken.
//!
//! Two things run them. `cargo test` feeds each its seeds, damaged seeds and random bytes, on the stable toolchain
//! and in seconds; libFuzzer explores from the same seeds for as long as it is let (`README.md`). A finding joins
//! `seeds/`, and is a regression test from then on.

pub mod engine;
pub mod record;
pub mod response;
pub mod sigv4;
mod text;
mod wire;
pub mod world;

/// A target's name, and its property.
pub type Target = (&'static str, fn(&[u8]));

/// Every target, by the name of its folder in `seeds/`.
pub const TARGETS: &[Target] = &[
    ("engine", engine::check),
    ("record", record::check),
    ("response", response::check),
    ("sigv4", sigv4::check),
    ("world", world::check),
];
