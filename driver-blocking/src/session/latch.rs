//! A value that is set once and waited for, by threads and by tasks alike.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Holds nothing at first, then one value for ever.
#[derive(Debug)]
pub struct Latch<T> {
    state: Mutex<State<T>>,
    is_set: Condvar,
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    wakers: BTreeMap<u64, Waker>,
    next: u64,
}

impl<T: Copy> Latch<T> {
    pub(crate) fn new() -> Self {
        let state = State { value: None, wakers: BTreeMap::new(), next: 0 };
        Self { state: Mutex::new(state), is_set: Condvar::new() }
    }

    /// Sets the value and wakes everyone, unless it is set already: the first value stays.
    pub(crate) fn set(&self, value: T) {
        let mut state = self.lock();
        if state.value.is_some() {
            return;
        }
        state.value = Some(value);
        let wakers = core::mem::take(&mut state.wakers);
        drop(state);
        self.is_set.notify_all();
        wakers.into_values().for_each(Waker::wake);
    }

    /// Returns the value, if it is set.
    pub fn get(&self) -> Option<T> {
        self.lock().value
    }

    /// Blocks the calling thread until the value is set.
    pub fn wait(&self) -> T {
        let mut state = self.lock();
        loop {
            if let Some(value) = state.value {
                return value;
            }
            state = self.is_set.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Blocks the calling thread until the value is set, at most for `limit`.
    pub fn wait_within(&self, limit: Duration) -> Option<T> {
        self.is_set
            .wait_timeout_while(self.lock(), limit, |state| state.value.is_none())
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .value
    }

    /// Resolves when the value is set. Dropping the future only stops listening.
    pub fn listen(&self) -> Listen<'_, T> {
        Listen { latch: self, key: None }
    }

    // No code that can panic or is not ours runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a [`Latch`]; leaves no trace in it when dropped.
#[derive(Debug)]
pub struct Listen<'a, T: Copy> {
    latch: &'a Latch<T>,
    key: Option<u64>,
}

impl<T: Copy> Future for Listen<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.latch.lock();
        if let Some(value) = state.value {
            return Poll::Ready(value);
        }
        let key = self.key.unwrap_or_else(|| {
            state.next += 1;
            state.next
        });
        let replaced = state.wakers.insert(key, context.waker().clone());
        drop(state);
        drop(replaced);
        self.key = Some(key);
        Poll::Pending
    }
}

impl<T: Copy> Drop for Listen<'_, T> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.latch.lock().wakers.remove(&key);
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Latch;
    use core::future::Future;
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use core::time::Duration;
    use std::sync::Arc;
    use std::task::Wake;
    use std::thread;

    #[test]
    fn the_first_value_stays() {
        let latch = Latch::new();
        assert_eq!(latch.wait_within(Duration::ZERO), None);
        latch.set(1);
        latch.set(2);
        assert_eq!((latch.get(), latch.wait(), latch.wait_within(Duration::ZERO)), (Some(1), 1, Some(1)));
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let latch = Latch::new();
        let value = thread::scope(|scope| {
            let waiting = scope.spawn(|| latch.wait());
            latch.set(7);
            waiting.join().expect("no panic")
        });
        assert_eq!(value, 7);
    }

    /// A waker whose end asks the latch, as that of a task may in which another listener is dropped.
    struct Nosy(Arc<Latch<i32>>);

    impl Wake for Nosy {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Nosy {
        fn drop(&mut self) {
            assert!(self.0.state.try_lock().is_ok(), "a waker was dropped under the lock");
        }
    }

    #[test]
    fn no_waker_is_dropped_under_the_lock() {
        let latch = Arc::new(Latch::new());
        let mut listen = Box::pin(latch.listen());
        for _ in 0..2 {
            let waker = Waker::from(Arc::new(Nosy(Arc::clone(&latch))));
            assert_eq!(listen.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        }
        drop(listen);
    }

    #[test]
    fn a_dropped_listener_leaves_nothing_behind() {
        let latch = Latch::new();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            let mut listen = pin!(latch.listen());
            assert_eq!(listen.as_mut().poll(&mut context), Poll::Pending);
            assert_eq!(listen.as_mut().poll(&mut context), Poll::Pending);
            assert_eq!(latch.lock().wakers.len(), 1);
        }
        assert!(latch.lock().wakers.is_empty(), "each listener took its waker with it");
        latch.set(1);
        assert_eq!(pin!(latch.listen()).poll(&mut context), Poll::Ready(1));
    }
}
