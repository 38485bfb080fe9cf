//! Aligned columns as Go's `text/tabwriter` lays them out with minimum width 8, padding 1: what operators see in the debug dumps.

/// Narrowest column, in characters.
const MIN_WIDTH: usize = 8;
/// Spaces after the widest cell.
const PADDING: usize = 1;

/// Lays out rows with equally many cells. Every cell but the last of a row gets a comma.
pub(crate) fn rows<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [MIN_WIDTH; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count() + 1 + PADDING);
        }
    }
    let mut text = String::new();
    for row in rows {
        for (index, cell) in row.iter().enumerate() {
            text.push_str(cell);
            if index + 1 < N {
                text.push(',');
                let used = cell.chars().count() + 1;
                text.extend(std::iter::repeat_n(' ', widths[index].saturating_sub(used)));
            }
        }
        text.push('\n');
    }
    text
}
