//! Proves that the core and what it depends on need no standard library.
//!
//! A library that brings its own panic handler and allocator does not compile if anything that it links
//! brings std's: the compiler finds the panic handler twice.
#![no_std]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr;

use tenure_core::{Call, Command, Config, Engine, Event, Instant, Now, SessionId, Ticket, WallTime};

/// Has no memory to give; nothing here ever runs.
struct Nothing;

// SAFETY: a null pointer is the answer of an allocator that has run out.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Nothing = Nothing;

#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Joins, so that every machine of the engine is linked. Returns how many commands that caused.
#[unsafe(no_mangle)]
pub extern "C" fn tenure_join(session: u64, mono_ns: u64, wall_ms: u64) -> u32 {
    let Ok(mut engine) = Engine::new(Config::new("n"), SessionId::new(session), session) else { return 0 };
    let now = Now { mono: Instant::from_nanos(mono_ns), wall: WallTime::from_millis(wall_ms) };
    engine.handle(now, Event::Call(Ticket::new(1), Call::Join));
    let mut commands = 0;
    while !matches!(engine.poll(), Command::Idle { .. }) {
        commands += 1;
    }
    commands
}
