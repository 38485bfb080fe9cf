//! A set of request ids from which a random or the oldest member is picked in constant time.

use std::collections::HashMap;

/// The requests in one state.
#[derive(Debug, Default, Clone)]
pub struct Roster {
    members: Vec<u64>,
    places: HashMap<u64, usize>,
}

impl Roster {
    /// Adds a request that is not in it.
    pub fn add(&mut self, id: u64) {
        self.places.insert(id, self.members.len());
        self.members.push(id);
    }

    /// Takes a request out; says whether it was in.
    pub fn remove(&mut self, id: u64) -> bool {
        let Some(place) = self.places.remove(&id) else { return false };
        self.members.swap_remove(place);
        if let Some(moved) = self.members.get(place) {
            self.places.insert(*moved, place);
        }
        true
    }

    /// Whether a request is in it.
    pub fn contains(&self, id: u64) -> bool {
        self.places.contains_key(&id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The member at a place below [`len`](Self::len); places change with every removal.
    pub fn at(&self, place: usize) -> Option<u64> {
        self.members.get(place).copied()
    }
}
