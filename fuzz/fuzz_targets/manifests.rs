//! `apf_fuzz::manifests` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| apf_fuzz::manifests::run(data));
