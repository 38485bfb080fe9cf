//! `apf_fuzz::audit_lines` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| apf_fuzz::audit_lines::run(data));
