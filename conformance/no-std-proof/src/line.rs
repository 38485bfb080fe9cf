//! Lines of text in a fixed buffer; what does not fit is cut off.

use crate::host;
use core::fmt;

pub(crate) struct Line {
    bytes: [u8; 160],
    used: usize,
}

impl Line {
    pub(crate) fn new(name: &str) -> Self {
        Self { bytes: [0; 160], used: 0 }.text(name)
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.used) {
            *slot = byte;
            self.used += 1;
        }
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        for byte in text.bytes() {
            self.push(byte);
        }
        self
    }

    pub(crate) fn number(mut self, number: u64) -> Self {
        self.push(b' ');
        let mut divisor = 10_000_000_000_000_000_000_u64;
        let mut begun = false;
        while divisor > 0 {
            let digit = (number / divisor % 10) as u8;
            begun |= digit > 0 || divisor == 1;
            if begun {
                self.push(b'0'.wrapping_add(digit));
            }
            divisor /= 10;
        }
        self
    }

    pub(crate) fn named(self, name: &str, number: u64) -> Self {
        self.text(" ").text(name).number(number)
    }

    /// The text that the core has for one of its values.
    pub(crate) fn shown(mut self, value: impl fmt::Display) -> Self {
        self.push(b' ');
        // Writing to this buffer never fails.
        let _ = fmt::Write::write_fmt(&mut self, format_args!("{value};"));
        self
    }

    pub(crate) fn print(mut self) {
        self.push(b'\n');
        if let Some(bytes) = self.bytes.get(..self.used) {
            host::print(bytes);
        }
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.push(byte);
        }
        Ok(())
    }
}
