//! Growing a list within the memory that was reserved for it.

use alloc::vec::Vec;

/// Appends `item` if there is room, and says whether there was.
///
/// A function of its own so that the optimizer sees the test right before the growth that it rules out: that
/// growth can panic, and the linker proof would find it.
pub(crate) fn push_reserved<T>(list: &mut Vec<T>, item: T) -> bool {
    let room = list.len() < list.capacity();
    if room {
        list.push(item);
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_is_left_alone() {
        let mut list = Vec::with_capacity(2);
        let room = list.capacity();
        let taken = (0..room + 3).filter(|item| push_reserved(&mut list, *item)).count();
        assert_eq!((taken, list.len(), list.capacity()), (room, room, room));
    }
}
