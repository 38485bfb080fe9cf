//! Compares whole servers: the same cases through `apf-config` and `apf-core` in exact mode and through the
//! Kubernetes controller (`conformance/server`). What is compared is in `conformance/server/README.md`.

pub mod compare;
pub mod coverage;
pub mod generate;
pub mod objects;
pub mod reference;
pub mod server;
pub mod vectors;
pub mod wire;
