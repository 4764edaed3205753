//! Counters of LLVM's coverage: one byte for every branch of the instrumented crates.

use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

const MAX_REGIONS: usize = 64;
static COUNT: AtomicUsize = AtomicUsize::new(0);
static STARTS: [AtomicPtr<u8>; MAX_REGIONS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MAX_REGIONS];
static SIZES: [AtomicUsize; MAX_REGIONS] = [const { AtomicUsize::new(0) }; MAX_REGIONS];

/// Called by the instrumentation before `main`, once for every object file.
///
/// # Safety
/// `start` and `stop` delimit counters that live as long as the program.
#[no_mangle]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let index = COUNT.fetch_add(1, Ordering::SeqCst);
    if index < MAX_REGIONS {
        STARTS[index].store(start, Ordering::SeqCst);
        SIZES[index].store(stop as usize - start as usize, Ordering::SeqCst);
    }
}

fn regions() -> impl Iterator<Item = &'static mut [u8]> {
    (0..COUNT.load(Ordering::SeqCst).min(MAX_REGIONS)).map(|index| {
        let start = STARTS[index].load(Ordering::SeqCst);
        // SAFETY: the promise above; this program has one thread.
        unsafe { slice::from_raw_parts_mut(start, SIZES[index].load(Ordering::SeqCst)) }
    })
}

pub fn clear() {
    for region in regions() {
        region.fill(0);
    }
}

/// How often each branch ran so far, as powers of two.
pub struct Seen {
    bits: Vec<u8>,
}

impl Seen {
    pub fn new() -> Self {
        let count = regions().map(|region| region.len()).sum();
        assert!(count > 0, "the program is not instrumented");
        Seen { bits: vec![0; count] }
    }

    /// Adds the last run; whether it showed anything new.
    pub fn add(&mut self) -> bool {
        let mut is_new = false;
        let mut place = 0;
        for region in regions() {
            for &count in region.iter() {
                if count > 0 {
                    let bit = 1u8 << count.ilog2();
                    is_new |= self.bits[place] & bit == 0;
                    self.bits[place] |= bit;
                }
                place += 1;
            }
        }
        is_new
    }

    pub fn branches(&self) -> usize {
        self.bits.iter().filter(|&&bits| bits > 0).count()
    }
}
