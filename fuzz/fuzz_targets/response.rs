//! Any answer to any operation: see `tenure_fuzz::response`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| tenure_fuzz::response::check(input));
