//! `apf_fuzz::event_trace` for libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| apf_fuzz::event_trace::run(data));
