//! Rows under headers: aligned for people, or as CSV.

use super::visible;
use crate::failure::Failure;

/// A column of a [`Table`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    header: &'static str,
    key: &'static str,
    right: bool,
    /// Whether people see the column only where some cell of it is not `0`.
    if_any: bool,
}

impl Column {
    /// Words, flush left: the header people see, and the name in CSV.
    pub(crate) const fn left(header: &'static str, key: &'static str) -> Column {
        Column { header, key, right: false, if_any: false }
    }

    /// Figures, flush right.
    pub(crate) const fn right(header: &'static str, key: &'static str) -> Column {
        Column { header, key, right: true, if_any: false }
    }
}

impl Column {
    /// The same column, hidden from people where it says `0` in every row. CSV always has it.
    pub(crate) const fn if_any(self) -> Column {
        Column { if_any: true, ..self }
    }
}

/// Columns are two blanks apart.
const GAP: &str = "  ";

/// A table that is put together before any of it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; a missing cell is empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Every column as wide as its widest cell, no blanks at the end of a line.
    pub(crate) fn aligned(&self) -> String {
        let header: Vec<String> = self.columns.iter().map(|column| column.header.to_owned()).collect();
        let shown: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
        let rows = || std::iter::once(&header).chain(&shown);
        let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| rows().map(|row| cell(row, at).chars().count()).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for row in rows() {
            let mut line = String::new();
            for (at, (column, &width)) in self.columns.iter().zip(&widths).enumerate() {
                if column.if_any && self.rows.iter().all(|row| cell(row, at) == "0") {
                    continue;
                }
                let cell = cell(row, at);
                if !line.is_empty() {
                    line.push_str(GAP);
                }
                if column.right {
                    line.push_str(&format!("{cell:>width$}"));
                } else {
                    line.push_str(&format!("{cell:<width$}"));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// One line a row, behind a header of the column keys.
    pub(crate) fn csv(&self) -> Result<String, Failure> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let failed = |error: &dyn std::fmt::Display| Failure::refused(format!("writing CSV: {error}"));
        writer.write_record(self.columns.iter().map(|column| column.key)).map_err(|error| failed(&error))?;
        for row in &self.rows {
            writer.write_record(row).map_err(|error| failed(&error))?;
        }
        let bytes = writer.into_inner().map_err(|error| failed(&error))?;
        String::from_utf8(bytes).map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&[
            Column::left("NAME", "name"),
            Column::right("WAIT P50", "wait_p50_s"),
            Column::left("WHY", "why"),
        ]);
        table.row(["ä".to_owned(), "1".to_owned(), "a,b".to_owned()]);
        table.row(["longer".to_owned(), "22222222222".to_owned(), String::new()]);
        table
    }

    #[test]
    fn cells_line_up_and_lines_end_without_blanks() {
        let expected = "NAME       WAIT P50  WHY\nä                 1  a,b\nlonger  22222222222\n";
        assert_eq!(sample().aligned(), expected);
    }

    #[test]
    fn a_column_of_zeros_is_hidden_from_people_only() {
        let rejected = Column::right("REJECTED", "rejected").if_any();
        let mut table = Table::new(&[Column::left("NAME", "name"), rejected, Column::left("WHY", "why")]);
        table.row(["a", "0", "x"].map(str::to_owned));
        assert_eq!(table.aligned(), "NAME  WHY\na     x\n");
        assert_eq!(table.csv().unwrap(), "name,rejected,why\na,0,x\n");
        table.row(["b", "1", "y"].map(str::to_owned));
        assert_eq!(table.aligned(), "NAME  REJECTED  WHY\na            0  x\nb            1  y\n");
    }

    #[test]
    fn csv_quotes_what_it_must() {
        let expected = "name,wait_p50_s,why\nä,1,\"a,b\"\nlonger,22222222222,\n";
        assert_eq!(sample().csv().unwrap(), expected);
    }
}
