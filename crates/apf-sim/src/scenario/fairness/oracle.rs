//! What is fair: the max-min fair allocation, computed on its own, without the engine.

/// Shares `capacity` among `demands`: nobody gets more than it asks for, and what the modest leave goes to the others in equal
/// parts. Exempt capacity is infinite.
pub(super) fn max_min_fair(capacity: f64, demands: &[f64]) -> Vec<f64> {
    let mut most_modest_first: Vec<usize> = (0..demands.len()).collect();
    most_modest_first.sort_by(|&a, &b| demands[a].total_cmp(&demands[b]));
    let mut left = capacity;
    let mut shares = vec![0.0; demands.len()];
    for (position, &index) in most_modest_first.iter().enumerate() {
        let equal_part = left / (demands.len() - position) as f64;
        shares[index] = demands[index].min(equal_part);
        left -= shares[index];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::max_min_fair;

    #[test]
    fn the_modest_get_what_they_ask_and_the_rest_share_equally() {
        assert_eq!(max_min_fair(10.0, &[8.0, 1.0, 8.0]), [4.5, 1.0, 4.5]);
        assert_eq!(max_min_fair(3.0, &[2.0, 1.0]), [2.0, 1.0]);
        assert_eq!(max_min_fair(3.0, &[5.0, 5.0]), [1.5, 1.5]);
        assert_eq!(max_min_fair(f64::INFINITY, &[5.0, 7.0]), [5.0, 7.0]);
    }
}
