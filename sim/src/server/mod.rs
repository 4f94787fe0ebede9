//! A store over HTTP: S3's dialect on a loopback port, over the simulated [`Store`], with faults on demand.
//!
//! It is for tests of anything that speaks to S3, through its real sockets, and for development against something
//! that behaves like S3, conditional writes included, without being asked to install it (`tenure dev-store`). What it
//! stores is in memory and gone with it.
//!
//! ```
//! use tenure_sim::server::{Fault, Options, Rule, Server};
//!
//! let server = Server::start(Options::default())?;
//! // The second write below `nodes/` takes effect, and its sender never learns of it.
//! server.faults([Rule::new(Fault::Drop).on("PUT").below("nodes/").after(1).times(1)]);
//! println!("AWS_ENDPOINT_URL={}", server.endpoint());
//! // ... run something against it, then ask the store itself what happened.
//! assert_eq!(server.store().keys().count(), 0);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What it does of S3: `GET` and `HEAD` with `If-None-Match` and `If-Match`, `PUT` and `DELETE` with their conditions,
//! `ListObjectsV2` with paging, path and virtual-host style, SigV4 ([`Verify`]). A condition is judged and its write
//! applied at one instant, after the whole body is here. Everything is stamped by one clock, in whole seconds. What it
//! does not do, it answers 501.
//!
//! The protocol's own deadlines count on the server's word, so a version's [`at`](crate::Version::at) and the
//! [`Moment`]s of its log are of one clock.

mod answer;
mod asked;
mod clock;
mod evaluate;
mod fault;
mod list;
mod listen;
mod part;
mod plan;
mod script;
mod serve;
mod shared;
mod signature;
mod wire;

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::clock::Moment;
use crate::make::Stamping;
use crate::store::Store;

pub use fault::Fault;
pub use script::Rule;
pub use shared::{Seen, Weather};
pub use signature::{Claim, Expected, Keys, Verify};

use clock::Clock;
use script::Script;
use shared::{Held, Shared};

/// What a server is like.
#[derive(Clone)]
pub struct Options {
    /// Where it listens; port 0 is a free one.
    pub listen: SocketAddr,
    /// The one bucket it has.
    pub bucket: String,
    /// The region that requests must be signed for; any, if nothing.
    pub region: Option<String>,
    /// Who may ask; everybody, signed or not, if nothing.
    pub verify: Option<Arc<dyn Verify>>,
    /// How many seconds its clock is ahead of this machine's, or behind.
    pub ahead_s: i64,
    /// Decides what [`Rule::at_rate`] leaves to chance.
    pub seed: u64,
    /// Whether it keeps a log and every version there ever was. They grow without end.
    pub keeps_history: bool,
}

impl Default for Options {
    /// Returns a bucket named `tenure` on a free loopback port, open to everybody, that forgets nothing.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            bucket: "tenure".to_owned(),
            region: None,
            verify: None,
            ahead_s: 0,
            seed: 0,
            keeps_history: true,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Options(bucket {} on {})", self.bucket, self.listen)
    }
}

/// A running server. It has a thread of its own, and dropping it ends the thread and closes every connection.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server; it listens when this returns.
    ///
    /// # Errors
    /// Returns the system's reason if it will not give the port, or a thread.
    pub fn start(options: Options) -> io::Result<Self> {
        let held = Held::new(
            Store::new(Stamping::HTTP),
            Script::new(Vec::new(), options.seed),
            options.keeps_history,
        );
        let clock = Clock::start(options.ahead_s);
        let shared = Arc::new(Shared::new(options.bucket, options.region, options.verify, clock, held));
        let listener = TcpListener::bind(options.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let listening = Arc::clone(&shared);
        let thread = thread::Builder::new().name("tenure-s3-server".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = listen::run(listener, address, listening) => {}
                    // Told to stop, or the handle is gone.
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its URL, as `AWS_ENDPOINT_URL` takes it.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts these rules in the place of those before. They count from zero; chance goes on where it was.
    pub fn faults(&self, rules: impl IntoIterator<Item = Rule>) {
        self.shared.lock().script().replace(rules.into_iter().collect());
    }

    /// Changes the weather. When this returns, connections are refused or accepted as it says within a moment.
    pub fn set_weather(&self, weather: Weather) {
        self.shared.weather.send_replace(weather);
    }

    /// Returns a copy of the store, with every version there ever was, unless it keeps no history.
    pub fn store(&self) -> Store {
        self.shared.lock().store.clone()
    }

    /// Puts an object there, as if somebody had written it by now, whatever was there.
    pub fn put(&self, key: &str, body: &[u8]) {
        let mut held = self.shared.lock();
        let at = self.shared.clock.now();
        held.store.put_by_force(key, body.into(), at);
    }

    /// Removes an object, as if somebody had by now.
    pub fn remove(&self, key: &str) {
        let mut held = self.shared.lock();
        let at = self.shared.clock.now();
        held.store.remove_by_force(key, at);
    }

    /// Returns the requests so far, in the order of their arrival.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.lock().seen().to_vec()
    }

    /// Blocks until `look` finds what it looks for among the requests so far, at most for `limit`. It looks again
    /// whenever one arrives, changes the store or is answered; meanwhile the server stands still, so it must not ask it.
    pub fn wait_for<T>(&self, limit: Duration, look: impl FnMut(&[Seen]) -> Option<T>) -> Option<T> {
        self.shared.wait_for(limit, look)
    }

    /// Returns how many requests there were.
    pub fn requests(&self) -> usize {
        self.shared.lock().arrived()
    }

    /// Returns how many requests will be evaluated later than their answer, or than their senders may wait.
    pub fn late(&self) -> usize {
        self.shared.late()
    }

    /// Returns how long it has been there: the time of its log and of its store's versions.
    pub fn now(&self) -> Moment {
        self.shared.clock.now()
    }

    /// Blocks until this much time has passed by its clock since it started.
    pub fn wait_until(&self, at: Moment) {
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        loop {
            let left = at.since(self.now());
            if left.is_zero() {
                return;
            }
            // Nothing is ever sent: the time-out is what is waited for.
            let _ = never.recv_timeout(left.min(Duration::from_secs(1)));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there was its own test's failure; a second one here would hide it.
            let _ = thread.join();
        }
    }
}
