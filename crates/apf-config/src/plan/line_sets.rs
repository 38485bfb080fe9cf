//! Sets of lines, kept so that the first line which is in all of several sets is found quickly.
//!
//! A line is one entry of a schema's rules; lines are numbered in matching order. A set is a bit map without its
//! empty words: memory follows what the configuration says, not the product of its values and its lines. For
//! each block of 64 words a head says which of them are there, so whole stretches of lines that cannot match
//! are skipped by one AND.

/// Lines in a word.
const WORD: u32 = u64::BITS;
/// Words in a block.
const BLOCK: u32 = u64::BITS;

/// One set of a [`LineSets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetId(u32);

impl SetId {
    /// The set without lines, present in every [`LineSets`].
    pub(super) const EMPTY: SetId = SetId(0);
}

/// A set while it is put together: its non-empty words by number, ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    words: Vec<(u32, u64)>,
}

impl Lines {
    /// Adds the lines of a range.
    pub(super) fn add(&mut self, range: std::ops::Range<u32>) {
        if range.is_empty() {
            return;
        }
        for word in range.start / WORD..range.end.div_ceil(WORD) {
            let from = range.start.saturating_sub(word * WORD);
            let to = (range.end - word * WORD).min(WORD);
            let bits = (u64::MAX >> (WORD - (to - from))) << from;
            match self.words.binary_search_by_key(&word, |(number, _)| *number) {
                Ok(at) => self.words.iter_mut().skip(at).take(1).for_each(|(_, lines)| *lines |= bits),
                Err(at) => self.words.insert(at, (word, bits)),
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Head {
    /// Which words of the block are not empty.
    occupied: u64,
    /// Where the first of them is.
    first: u32,
}

/// Sets over the same lines.
#[derive(Debug, Clone)]
pub(super) struct LineSets {
    blocks: usize,
    heads: Vec<Head>,
    words: Vec<u64>,
}

impl LineSets {
    /// No sets but the empty one, over `lines` lines.
    pub(super) fn new(lines: u32) -> Self {
        let blocks = lines.div_ceil(WORD * BLOCK) as usize;
        LineSets { blocks, heads: vec![Head::default(); blocks], words: Vec::new() }
    }

    /// Keeps a set.
    pub(super) fn keep(&mut self, lines: &Lines) -> SetId {
        if lines.words.is_empty() || self.blocks == 0 {
            return SetId::EMPTY;
        }
        let start = self.heads.len();
        self.heads.resize(start + self.blocks, Head::default());
        for &(number, bits) in &lines.words {
            if let Some(head) = self.heads.get_mut(start + (number / BLOCK) as usize) {
                if head.occupied == 0 {
                    head.first = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
                }
                head.occupied |= 1 << (number % BLOCK);
                self.words.push(bits);
            }
        }
        SetId(u32::try_from(start / self.blocks).unwrap_or(0))
    }

    /// The first line that is, for every group of sets, in at least one of its sets.
    pub(super) fn first_in_all<const N: usize>(&self, groups: [&[SetId]; N]) -> Option<u32> {
        for block in 0..self.blocks {
            let in_some =
                |group: &[SetId]| group.iter().fold(0, |union, set| union | self.head(*set, block).occupied);
            let mut occupied = groups.iter().fold(u64::MAX, |common, group| common & in_some(group));
            while occupied != 0 {
                let word = occupied.trailing_zeros();
                occupied &= occupied - 1;
                let lines = groups.iter().fold(u64::MAX, |common, group| {
                    common
                        & group.iter().fold(0, |union, set| union | self.word(self.head(*set, block), word))
                });
                if lines != 0 {
                    let block = u32::try_from(block).unwrap_or(0);
                    return Some((block * BLOCK + word) * WORD + lines.trailing_zeros());
                }
            }
        }
        None
    }

    fn head(&self, set: SetId, block: usize) -> Head {
        self.heads.get(set.0 as usize * self.blocks + block).copied().unwrap_or_default()
    }

    fn word(&self, head: Head, word: u32) -> u64 {
        let bit = 1u64 << word;
        if head.occupied & bit == 0 {
            return 0;
        }
        let before = head.occupied & (bit - 1);
        // Counting bits takes a dozen instructions where the processor's own cannot be assumed.
        let rank = if before == 0 { 0 } else { before.count_ones() };
        self.words.get((head.first + rank) as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(sets: &mut LineSets, lines: &[u32]) -> SetId {
        let mut growing = Lines::default();
        lines.iter().for_each(|line| growing.add(*line..*line + 1));
        sets.keep(&growing)
    }

    #[test]
    fn the_first_common_line_is_found_wherever_it_is() {
        for common in [0, 1, 63, 64, 65, 4095, 4096, 4097, 8191, 9_999] {
            let mut sets = LineSets::new(10_000);
            let below: Vec<u32> = (0..common).step_by(2).collect();
            let odd: Vec<u32> = (1..common).step_by(2).collect();
            let a = set(&mut sets, &[below, vec![common, 9_999]].concat());
            let b = set(&mut sets, &odd);
            let c = set(&mut sets, &[common]);
            assert_eq!(sets.first_in_all([&[a], &[b, c]]), Some(common));
            assert_eq!(sets.first_in_all([&[a], &[b]]), None);
            assert_eq!(sets.first_in_all([&[a], &[b, c], &[SetId::EMPTY]]), None);
        }
    }

    #[test]
    fn a_range_of_lines_is_the_lines_in_it() {
        for range in [0..0, 0..1, 0..64, 3..64, 3..65, 63..64, 64..64, 64..128, 10..300, 4000..4200] {
            let mut growing = Lines::default();
            growing.add(range.clone());
            growing.add(range.clone());
            let mut sets = LineSets::new(5_000);
            let ranged = sets.keep(&growing);
            for line in 0..5_000 {
                let single = set(&mut sets, &[line]);
                assert_eq!(
                    sets.first_in_all([&[ranged], &[single]]).is_some(),
                    range.contains(&line),
                    "{range:?} {line}"
                );
            }
        }
    }

    #[test]
    fn sets_over_no_lines_have_none() {
        let mut sets = LineSets::new(0);
        assert_eq!(sets.keep(&Lines::default()), SetId::EMPTY);
        assert_eq!(sets.first_in_all([&[SetId::EMPTY]]), None);
    }
}
