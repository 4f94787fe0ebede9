//! An address where every connection is refused.

use core::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{self, AddressFamily, SocketType};

/// An address that is taken, and on which nobody listens: every connection is refused, for as long as this
/// lives. A port that was merely free a moment ago may be another test's server now.
pub(crate) struct Nobody {
    address: SocketAddr,
    _bound: OwnedFd,
}

impl Nobody {
    pub(crate) fn new() -> Self {
        let bound = net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        net::bind(&bound, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
        let address = net::getsockname(&bound).expect("bound").try_into().expect("an IP address");
        Self { address, _bound: bound }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}
