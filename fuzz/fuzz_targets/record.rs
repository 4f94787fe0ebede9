//! Records and names from any bytes: see `tenure_fuzz::record`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| tenure_fuzz::record::check(input));
