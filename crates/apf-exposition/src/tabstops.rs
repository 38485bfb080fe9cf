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

#[cfg(test)]
mod tests {
    use super::rows;

    /// Takes a published dump apart and lays it out again; its elisions are no rows.
    fn relaid<const N: usize>(published: &str) -> String {
        let cells: Vec<[String; N]> = published
            .lines()
            .filter(|line| *line != "...")
            .map(|line| {
                let mut cells = line.split(',').map(|cell| cell.trim().to_owned());
                std::array::from_fn(|_| cells.next().unwrap())
            })
            .collect();
        rows(&cells)
    }

    fn without_elisions(published: &str) -> String {
        published.lines().filter(|line| *line != "...").map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn published_dumps_are_laid_out_byte_for_byte() {
        let levels = include_str!("../tests/data/dump_priority_levels-2023.csv");
        assert_eq!(relaid::<10>(levels), without_elisions(levels));
        let queues = include_str!("../tests/data/dump_queues-2023.csv");
        assert_eq!(relaid::<9>(queues), without_elisions(queues));
        let requests = include_str!("../tests/data/dump_requests-2023.csv");
        assert_eq!(relaid::<10>(requests), without_elisions(requests));
        let details = include_str!("../tests/data/dump_requests-details-2023.csv");
        // The document has lost the spaces before its empty last cells.
        let stripped: String =
            relaid::<18>(details).lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert_eq!(stripped, without_elisions(details));
    }

    #[test]
    fn widths_count_characters_and_columns_have_a_least_width() {
        let text = rows(&[["a".to_owned(), "b".into()], ["ünïcödé-ünï".into(), "c".into()]]);
        assert_eq!(text, "a,           b\nünïcödé-ünï, c\n");
        assert_eq!(rows(&[["a".to_owned(), String::new()]]), "a,      \n");
    }
}
