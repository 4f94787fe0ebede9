//! A simulated world led by any bytes: see `tenure_fuzz::world`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| tenure_fuzz::world::check(input));
