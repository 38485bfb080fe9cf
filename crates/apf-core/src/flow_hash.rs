//! From a flow's identity to the 64 bits that its hand of queues is dealt from.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Identities up to this many bytes are hashed from one buffer on the stack.
const SHORT: usize = 256;

/// Which hash turns (schema name, flow distinguisher) into 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowHash {
    /// The first 8 bytes of SHA-256, little-endian: puts a flow into the same queues as kube-apiserver.
    Sha256,
    /// XXH3-64, seed 0: the default.
    Xxh3,
}

impl FlowHash {
    /// Hashes the schema name, one zero byte, and the distinguisher.
    pub fn hash(self, schema: &str, distinguisher: &str) -> u64 {
        match self {
            Self::Sha256 => {
                let mut hasher = Sha256::new();
                hasher.update(schema.as_bytes());
                hasher.update([0u8]);
                hasher.update(distinguisher.as_bytes());
                let digest = hasher.finalize();
                digest.iter().take(8).rev().fold(0, |bits, byte| (bits << 8) | u64::from(*byte))
            }
            Self::Xxh3 => {
                let length = schema.len().saturating_add(1).saturating_add(distinguisher.len());
                let mut buffer = [0u8; SHORT];
                if length <= SHORT
                    && let Some((name, rest)) = buffer.split_at_mut_checked(schema.len())
                    && let Some((_, rest)) = rest.split_first_mut()
                {
                    name.iter_mut().zip(schema.bytes()).for_each(|(slot, byte)| *slot = byte);
                    rest.iter_mut().zip(distinguisher.bytes()).for_each(|(slot, byte)| *slot = byte);
                    return xxh3_64(buffer.get(..length).unwrap_or(&[]));
                }
                let mut hasher = Xxh3::new();
                hasher.update(schema.as_bytes());
                hasher.update(&[0]);
                hasher.update(distinguisher.as_bytes());
                hasher.digest()
            }
        }
    }

    /// The name in options and dumps: `sha256` or `xxh3`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Xxh3 => "xxh3",
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn sha256_matches_the_published_vectors() {
        for (schema, distinguisher, hash) in [
            ("", "", 10_987_292_151_339_758_702),
            ("global-default", "alice", 17_644_606_172_554_983_095),
            ("system-nodes", "system:node:node-1", 11_909_065_898_299_811_039),
            ("service-accounts", "system:serviceaccount:default:default", 13_424_615_363_282_033_023),
            ("kube-controller-manager", "kube-system", 1_951_360_281_921_618_776),
            ("fs", "ünï", 4_642_907_840_749_641_442),
            ("catch-all", "", 7_733_929_212_674_924_205),
        ] {
            assert_eq!(FlowHash::Sha256.hash(schema, distinguisher), hash, "{schema} {distinguisher}");
        }
    }

    #[test]
    fn xxh3_is_one_function_across_the_buffer_size() {
        for length in [0, 1, SHORT - 3, SHORT - 2, SHORT - 1, SHORT, 5000] {
            let user = "u".repeat(length);
            let joined = std::format!("s\0{user}");
            assert_eq!(FlowHash::Xxh3.hash("s", &user), xxh3_64(joined.as_bytes()), "{length}");
        }
    }
}
