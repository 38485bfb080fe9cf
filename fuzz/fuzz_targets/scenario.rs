//! `apf_fuzz::scenario` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| apf_fuzz::scenario::run(data));
