//! Coverage-guided fuzzing of the decoder under the address sanitizer.
//!
//! `bench/fuzz_decoder.py --coverage SECONDS` builds it with the sanitizer and with counters of
//! LLVM's coverage in every branch, and runs it: mutated pieces that reach a new branch, or one more
//! often, become seeds and are written to a folder, where Python compares both decoders on them.
//! A panic, a memory error or a malformed answer ends it with an error.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use torch_tb_profiler_native::edge::answer;

mod coverage;
mod mutate;

use mutate::Mutator;

const HEAD_BYTES: usize = 16;
const MAX_PIECE_BYTES: usize = 1 << 14;

fn number(block: &[u8], at: usize) -> usize {
    u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes")) as usize
}

/// The arrays of an answer lie inside it and inside of each other nowhere; returns its status.
fn check(block: &[u8]) -> usize {
    let count = number(block, 8);
    let mut end = HEAD_BYTES + 16 * count;
    for index in 0..count {
        let start = number(block, HEAD_BYTES + 16 * index);
        let size = number(block, HEAD_BYTES + 16 * index + 8);
        assert!(start >= end && start + size <= block.len(), "array {index} of {count}");
        assert_eq!(start % 8, 0, "array {index} is not aligned");
        end = start + size;
    }
    number(block, 0)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("PLAN SEEDS REACHED SECONDS SEED");
    let plan = fs::read(next()).expect("the plan");
    let (seeds, reached) = (next(), next());
    let seconds: u64 = next().parse().expect("seconds");
    let seed: u64 = next().parse().expect("a number");

    let mut pieces: Vec<Vec<u8>> = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(seeds).expect("seeds").flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        pieces.push(fs::read(path).expect("a seed"));
    }
    assert!(!pieces.is_empty(), "no seeds");
    let mut mutator = Mutator::new(seed);
    let mut counts = [0u64; 3];
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut runs: u64 = 0;
    let mut seen = coverage::Seen::new();
    while runs % 256 != 0 || Instant::now() < until {
        let piece = if (runs as usize) < pieces.len() {
            pieces[runs as usize].clone()
        } else {
            mutator.mutated(&pieces, MAX_PIECE_BYTES)
        };
        coverage::clear();
        let status = check(&answer(&piece, &plan));
        counts[status] += 1;
        if seen.add() && runs as usize >= pieces.len() {
            fs::write(Path::new(&reached).join(format!("{seed}-{runs}")), &piece).expect("written");
            pieces.push(piece);
        }
        runs += 1;
    }
    println!(
        "{{\"runs\": {runs}, \"seeds\": {}, \"branches\": {}, \"handed_back\": {}, \"decoded\": {}}}",
        pieces.len(),
        seen.branches(),
        counts[0],
        counts[1]
    );
}
