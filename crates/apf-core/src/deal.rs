//! Shuffle sharding: from 64 bits to a hand of distinct queues (KEP-1040, "Assignment to a Queue").

use core::fmt;
use core::ops::Deref;

/// The largest hand that the entropy rule allows.
const LARGEST_HAND: usize = 15;
/// The largest deck.
const LARGEST_DECK: u32 = 1 << 26;
/// Bits of entropy that a hand may draw from the hash.
const MAX_ENTROPY_BITS: u32 = 60;

/// Deals hands of a fixed size from a deck of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dealer {
    deck_size: u32,
    hand_size: u32,
    /// By number of cards, from one; one more than the largest hand needs, so that a masked index is always inside.
    partial_hands: [PartialHands; LARGEST_HAND + 1],
}

/// In how many ways so many cards can be dealt in order. Draws are what is left of the hash when it is divided by these;
/// with the reciprocals all of them are found at once, without a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct PartialHands {
    count: u64,
    /// 2^64 over `count`, rounded down, at most 2^64 - 1.
    reciprocal: u64,
}

impl PartialHands {
    fn new(count: u64) -> Self {
        let reciprocal = (1_u128 << 64) / u128::from(count.max(1));
        Self { count, reciprocal: u64::try_from(reciprocal).unwrap_or(u64::MAX) }
    }

    /// `value / count`.
    const fn quotient(self, value: u64) -> u64 {
        // The product is less than 1 below the quotient, so what it truncates to is right or one too small.
        let quotient = ((value as u128 * self.reciprocal as u128) >> 64) as u64;
        let rest = value.wrapping_sub(quotient.wrapping_mul(self.count));
        quotient.wrapping_add((rest >= self.count) as u64)
    }
}

/// Why a deck and a hand do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DealerError {
    /// Deck or hand is 0.
    NotPositive,
    /// The hand has more cards than the deck.
    HandExceedsDeck,
    /// More than 2^26 queues.
    DeckTooLarge,
    /// The hand would draw more than 60 bits from the hash.
    EntropyExceeded,
}

impl fmt::Display for DealerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotPositive => "queues and handSize must be positive",
            Self::HandExceedsDeck => "handSize must not exceed queues",
            Self::DeckTooLarge => "queues must not exceed 67108864",
            Self::EntropyExceeded => "queues and handSize need more than 60 bits of the flow hash",
        })
    }
}

impl core::error::Error for DealerError {}

impl Dealer {
    /// A dealer of `hand_size` cards from `deck_size`.
    ///
    /// # Errors
    ///
    /// The rules of [`DealerError`], checked in its order.
    pub fn new(deck_size: u32, hand_size: u32) -> Result<Self, DealerError> {
        if deck_size == 0 || hand_size == 0 {
            return Err(DealerError::NotPositive);
        }
        if hand_size > deck_size {
            return Err(DealerError::HandExceedsDeck);
        }
        if deck_size > LARGEST_DECK {
            return Err(DealerError::DeckTooLarge);
        }
        // ceil(log2(deck) * hand) <= 60 in integers: deck^hand <= 2^60.
        let mut hands: u64 = 1;
        for _ in 0..hand_size {
            hands = hands.saturating_mul(u64::from(deck_size));
            if hands > 1 << MAX_ENTROPY_BITS {
                return Err(DealerError::EntropyExceeded);
            }
        }
        let mut partial_hands = [PartialHands::default(); LARGEST_HAND + 1];
        let mut count: u64 = 1;
        for (left, hands) in (0..=deck_size).rev().zip(&mut partial_hands).take(hand_size as usize) {
            count = count.saturating_mul(u64::from(left)); // below 2^60
            *hands = PartialHands::new(count);
        }
        Ok(Self { deck_size, hand_size, partial_hands })
    }

    /// Number of cards in a hand, 1..=15.
    pub const fn hand_size(&self) -> u32 {
        self.hand_size
    }

    /// Number of queues dealt over.
    pub const fn deck_size(&self) -> u32 {
        self.deck_size
    }

    /// The hand of a flow, in deal order: distinct queue indices below the deck size.
    pub fn deal(&self, flow_hash: u64) -> Hand {
        let draws = self.draw(flow_hash, self.hand_size);
        let mut cards = [0; LARGEST_HAND];
        for (place, (card, draw)) in cards.iter_mut().zip(draws).enumerate().take(self.hand_size as usize) {
            *card = undealt(draw, draws.get(..place).unwrap_or(&[]));
        }
        Hand { cards, length: self.hand_size }
    }

    /// One card of a flow's hand, without the others.
    #[inline]
    pub(crate) fn deal_one(&self, flow_hash: u64, place: u32) -> u32 {
        // As `draw` and `undealt`, but from the card backwards, which needs no place to keep the draws in.
        let mut earlier = place as usize;
        let mut left = self.deck_size.wrapping_sub(place);
        let mut after = self.quotient(flow_hash, earlier);
        let mut dealt = None;
        loop {
            let before =
                if earlier == 0 { flow_hash } else { self.quotient(flow_hash, earlier.wrapping_sub(1)) };
            // Below the deck size, so the lower half is enough.
            let draw = (before as u32).wrapping_sub((after as u32).wrapping_mul(left));
            let card = later(dealt, draw);
            if earlier == 0 {
                return card;
            }
            dealt = Some(card);
            (after, left, earlier) = (before, left.wrapping_add(1), earlier.wrapping_sub(1));
        }
    }

    /// What is left of the hash once so many cards and one more are drawn.
    #[inline(always)]
    fn quotient(&self, flow_hash: u64, earlier: usize) -> u64 {
        let Some(hands) = self.partial_hands.get(earlier & LARGEST_HAND) else { return 0 };
        hands.quotient(flow_hash)
    }

    /// The hash as digits of a mixed radix: which of the cards that are left each of the first `cards` is.
    fn draw(&self, flow_hash: u64, cards: u32) -> [u32; LARGEST_HAND] {
        let mut before = flow_hash;
        let mut left = u64::from(self.deck_size);
        let mut draws = [0; LARGEST_HAND];
        for (draw, hands) in draws.iter_mut().zip(&self.partial_hands).take(cards as usize) {
            let after = hands.quotient(flow_hash);
            *draw = before.wrapping_sub(after.wrapping_mul(left)) as u32;
            (before, left) = (after, left.wrapping_sub(1));
        }
        draws
    }
}

/// The card when one more card, with this draw, was dealt before it; the first draw is the card's own.
fn later(card: Option<u32>, draw: u32) -> u32 {
    card.map_or(draw, |card| card + u32::from(card >= draw))
}

/// The `draw`-th of the cards that are not dealt, after cards with the given draws were.
fn undealt(draw: u32, earlier: &[u32]) -> u32 {
    earlier.iter().rev().fold(draw, |card, earlier| card + u32::from(card >= *earlier))
}

/// Queue indices in deal order; a slice by deref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hand {
    cards: [u32; LARGEST_HAND],
    length: u32,
}

impl Deref for Hand {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        self.cards.get(..self.length as usize).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::FlowHash;
    use std::vec::Vec;

    #[test]
    fn hands_match_the_published_vectors() {
        let hash = |schema, user| FlowHash::Sha256.hash(schema, user);
        let cases: [(u64, u32, u32, &[u32]); 12] = [
            (0, 16, 4, &[0, 1, 2, 3]),
            (64, 16, 4, &[0, 5, 1, 2]),
            (4095, 64, 6, &[63, 0, 2, 1, 3, 4]),
            (u64::MAX, 6, 6, &[3, 2, 0, 1, 4, 5]),
            (u64::MAX, 64, 6, &[63, 15, 55, 23, 31, 2]),
            (u64::MAX, 128, 6, &[127, 1, 7, 56, 91, 6]),
            (12345, 1, 1, &[0]),
            (hash("global-default", "alice"), 128, 6, &[55, 62, 126, 125, 105, 1]),
            (hash("system-nodes", "system:node:node-1"), 64, 6, &[31, 41, 53, 23, 38, 17]),
            (
                hash("service-accounts", "system:serviceaccount:default:default"),
                128,
                6,
                &[127, 66, 18, 15, 64, 74],
            ),
            (hash("kube-controller-manager", "kube-system"), 128, 6, &[88, 53, 21, 91, 7, 17]),
            (hash("", ""), 16, 4, &[14, 3, 12, 11]),
        ];
        for (value, deck, size, cards) in cases {
            let dealer = Dealer::new(deck, size).unwrap();
            assert_eq!(&*dealer.deal(value), cards, "{value} {deck} {size}");
            for (place, card) in (0..).zip(cards) {
                assert_eq!(dealer.deal_one(value, place), *card, "{value} {deck} {size} {place}");
            }
        }
    }

    /// The definition, card by card: take the draw-th of the cards that are left.
    fn deal_by_definition(mut value: u64, deck: u32, size: u32) -> Vec<u32> {
        let mut left: Vec<u32> = (0..deck).collect();
        (0..size)
            .map(|_| {
                let n = left.len() as u64;
                let draw = (value % n) as usize;
                value /= n;
                left.remove(draw)
            })
            .collect()
    }

    #[test]
    fn hands_match_the_definition_on_many_hashes() {
        let mut value = 1u64;
        for (deck, size) in [(1, 1), (2, 2), (15, 15), (16, 15), (33, 11), (64, 8), (512, 6), (1024, 6)] {
            for _ in 0..500 {
                value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let hand = Dealer::new(deck, size).unwrap().deal(value);
                assert_eq!(&*hand, deal_by_definition(value, deck, size));
            }
        }
    }

    #[test]
    fn draws_are_right_beside_every_multiple() {
        for (deck, size) in [(2, 2), (3, 3), (15, 15), (64, 8), (1024, 6), (1 << 26, 2)] {
            let dealer = Dealer::new(deck, size).unwrap();
            for hands in dealer.partial_hands.iter().take(size as usize) {
                for times in [1, 2, 3, 1000, u64::MAX / hands.count] {
                    let multiple = hands.count.wrapping_mul(times);
                    for value in [multiple.wrapping_sub(1), multiple, multiple.wrapping_add(1), u64::MAX] {
                        assert_eq!(hands.quotient(value), value / hands.count, "{value} {hands:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn shuffle_shard_sizes_are_bounded_by_the_entropy_of_the_hash() {
        use DealerError::{DeckTooLarge, EntropyExceeded, HandExceedsDeck, NotPositive};
        for (deck, hand, verdict) in [
            (64, 10, Ok(())),
            (128, 8, Ok(())),
            (512, 6, Ok(())),
            (1024, 6, Ok(())), // exactly 60 bits
            (1_048_576, 3, Ok(())),
            (67_108_864, 2, Ok(())),
            (16, 15, Ok(())),
            (15, 15, Ok(())),
            (31, 12, Ok(())),
            (64, 11, Err(EntropyExceeded)),
            (128, 9, Err(EntropyExceeded)),
            (512, 7, Err(EntropyExceeded)),
            (1024, 7, Err(EntropyExceeded)),
            (1025, 6, Err(EntropyExceeded)),
            (1_048_577, 3, Err(EntropyExceeded)),
            (33, 12, Err(EntropyExceeded)),
            (17, 15, Err(EntropyExceeded)),
            (0, 0, Err(NotPositive)),
            (100, 0, Err(NotPositive)),
            (100, 101, Err(HandExceedsDeck)),
            (1 << 27, 2, Err(DeckTooLarge)),
            (i32::MAX as u32, 3, Err(DeckTooLarge)),
        ] {
            assert_eq!(Dealer::new(deck, hand).map(|_| ()), verdict, "{deck} {hand}");
        }
    }
}
