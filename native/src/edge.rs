//! The C functions that Python calls through `ctypes`: the only `unsafe` of this crate.
//!
//! Python owns the texts and keeps them while a function runs; what `ttp_decode` returns belongs to
//! Python until `ttp_take` has copied and freed it.

#![allow(unsafe_code)]

use crate::{events, output, plan::Plan, Odd};
use std::panic::catch_unwind;
use std::slice;

/// Goes up when the plan or the output changes; the Python side refuses another one.
const VERSION: u32 = 2;

#[no_mangle]
pub extern "C" fn ttp_version() -> u32 {
    VERSION
}

/// Everything between the edge and the columns.
pub fn answer(text: &[u8], plan: &[u8]) -> Vec<u8> {
    let plan = Plan::read(plan);
    output::encode(match &plan {
        Ok(plan) => events::decode(text, plan),
        Err(Odd) => Err(Odd),
    })
}

/// Decodes a piece.
///
/// # Safety
/// `text` and `plan` point to `text_size` and `plan_size` readable bytes.
#[no_mangle]
pub unsafe extern "C" fn ttp_decode(
    text: *const u8,
    text_size: usize,
    plan: *const u8,
    plan_size: usize,
) -> *mut Vec<u8> {
    // SAFETY: the caller's promise above; both outlive the call.
    let (text, plan) = unsafe {
        (
            slice::from_raw_parts(text, text_size),
            slice::from_raw_parts(plan, plan_size),
        )
    };
    let block = catch_unwind(|| answer(text, plan)).unwrap_or_else(|_| output::encode(Err(Odd)));
    Box::into_raw(Box::new(block))
}

/// The size of a block in bytes.
///
/// # Safety
/// `block` comes from `ttp_decode` and was not taken yet.
#[no_mangle]
pub unsafe extern "C" fn ttp_size(block: *const Vec<u8>) -> usize {
    // SAFETY: the caller's promise above.
    unsafe { (*block).len() }
}

/// Copies a block and frees it.
///
/// # Safety
/// `block` comes from `ttp_decode` and was not taken yet; `target` points to `ttp_size(block)`
/// writable bytes.
#[no_mangle]
pub unsafe extern "C" fn ttp_take(block: *mut Vec<u8>, target: *mut u8) {
    // SAFETY: the caller's promise above; the block is freed here and nowhere else.
    unsafe {
        let block = Box::from_raw(block);
        slice::from_raw_parts_mut(target, block.len()).copy_from_slice(&block);
    }
}
