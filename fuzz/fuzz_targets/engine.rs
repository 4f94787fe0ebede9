//! Any events in any order: see `tenure_fuzz::engine`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| tenure_fuzz::engine::check(input));
