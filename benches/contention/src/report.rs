//! What a run prints: figures, aims and notes, one a line, for people and for `cargo xtask bench`.

use std::io::Write;

/// Prints as it goes, so that a long run shows where it is.
#[derive(Debug, Default)]
pub struct Report {
    missed: u32,
}

impl Report {
    fn line(text: &str) {
        // Whoever reads may have gone; the run is for nobody then.
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    /// A figure by itself: `measured NAME VALUE UNIT`.
    pub fn figure(&mut self, name: &str, value: f64, unit: &str) {
        Self::line(&format!("measured {name} {value:.4} {unit}"));
    }

    /// A figure and how many times that of `peer` it is: `measured NAME VALUE UNIT PEER RATIO`.
    pub fn compared(&mut self, name: &str, value: f64, unit: &str, peer: &str, ratio: f64) {
        Self::line(&format!("measured {name} {value:.4} {unit} {peer} {ratio:.4}"));
    }

    /// Whether a bar was met: `aim met TEXT` or `aim missed TEXT`.
    pub fn aim(&mut self, met: bool, text: &str) {
        self.missed += u32::from(!met);
        Self::line(&format!("aim {} {text}", if met { "met" } else { "missed" }));
    }

    /// Something to know about the figures: `note TEXT`.
    pub fn note(&mut self, text: &str) {
        Self::line(&format!("note {text}"));
    }

    /// How many bars were missed.
    pub const fn missed(&self) -> u32 {
        self.missed
    }
}
