//! Any bytes as an audit log, plain or gzip.

use apf_core::Mode;
use apf_sim::audit::{Input, read};
use apf_sim::configuration::{BuiltIn, Configuration};
use apf_sim::replay::{self, Options};

/// Replaying takes time for each long pause of a log; more requests than this only repeat what fewer show.
const MOST_REQUESTS: usize = 20;

/// Reads the bytes as a log; every line is counted, an error names the file, and a log that was read can be replayed.
pub fn run(data: &[u8]) {
    let input = [Input::Bytes(data.to_vec(), "input".to_owned())];
    let log = match read(&input, &mut |_| {}) {
        Ok(log) => log,
        Err(error) => {
            assert!(error.to_string().contains("input"), "no file in: {error}");
            return;
        }
    };
    assert!(!log.requests.is_empty(), "a log without a request is an error");
    assert!(
        log.requests.is_sorted_by_key(|request| request.received),
        "requests are in the order of their arrival"
    );
    if log.requests.len() > MOST_REQUESTS {
        return;
    }
    let configuration = Configuration::built_in(BuiltIn::Suggested);
    for mode in [Mode::Exact, Mode::Default] {
        let replay = || {
            replay::run(&log, &configuration, &Options::new(7, mode), &mut |_| {}).expect("a valid set-up")
        };
        let report = replay();
        let replayed = report.replayed;
        assert_eq!(
            replayed.requests + replayed.long_running + replayed.unclassifiable,
            log.requests.len() as u64,
            "every request is sent or counted"
        );
        assert_eq!(report, replay(), "the same log gives the same report");
    }
}
