//! A progress bar for long work: on a terminal only, and not before the work has taken a moment.

use std::time::{Duration, Instant};

use apf_sim::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar that shows up when it is needed.
pub(crate) struct Bar {
    what: &'static str,
    begun: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar for the work that begins now.
    pub(crate) fn new(what: &'static str) -> Bar {
        Bar { what, begun: Instant::now(), bar: None }
    }

    /// Takes a report of the library.
    pub(crate) fn report(&mut self, progress: Progress) {
        if self.bar.is_none() && self.begun.elapsed() < PATIENCE {
            return;
        }
        let what = self.what;
        let bar = self.bar.get_or_insert_with(|| {
            // indicatif draws nothing where standard error is no terminal.
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3}% {eta:>4}") {
                bar.set_style(style);
            }
            bar.set_message(what);
            bar
        });
        if progress.total > 0 {
            bar.set_length(progress.total);
        }
        bar.set_position(progress.done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
