//! Deterministic simulation and audit-log replay of API Priority and Fairness.
