//! Requests signed from any settings: see `tenure_fuzz::sigv4`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| tenure_fuzz::sigv4::check(input));
