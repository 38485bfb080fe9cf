//! What was met in the audit logs, and what was done with it.

use apf_sim::audit::Counts;
use apf_sim::replay::Replayed;

use crate::print::{Column, Table};

pub(super) fn table(counts: &Counts, replayed: &Replayed) -> Table {
    let mut table = Table::new(&[
        Column::right("COUNT", "count"),
        Column::left("REPLAYED", "replayed"),
        Column::left("WHAT", "what"),
    ]);
    let no = |skipped: bool| if skipped { "no" } else { "" }.to_owned();
    for row in counts.rows() {
        table.row([row.count.to_string(), no(row.skipped), row.what.to_owned()]);
    }
    // In full, so that nothing new goes unreported.
    let &Replayed {
        requests,
        watches,
        durations_from_log,
        durations_from_model,
        refused_in_log,
        by_object_ref,
        long_running,
        unauthenticated,
        unclassifiable,
    } = replayed;
    table.row([requests.to_string(), String::new(), "requests sent to the server".to_owned()]);
    for (count, skipped, what) in [
        (long_running, true, "exec, attach, port-forward, proxy or log request: never queued"),
        (unauthenticated, true, "answered 401 without a user: refused before priority and fairness"),
        (unclassifiable, true, "request without requestURI and objectRef"),
        (watches, false, "watch: holds its seat until it is initialised"),
        (by_object_ref, false, "request known by its objectRef only"),
        (refused_in_log, false, "refused with 429 in the log, execution time from the model"),
        (durations_from_log, false, "execution time from the log"),
        (durations_from_model, false, "execution time from the model"),
    ] {
        if count > 0 {
            table.row([count.to_string(), no(skipped), what.to_owned()]);
        }
    }
    table
}
