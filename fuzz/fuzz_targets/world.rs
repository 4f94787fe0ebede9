#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| tenure_fuzz::world::check(input));
