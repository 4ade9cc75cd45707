#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ridethrough_fuzz::gateway_config(input));
