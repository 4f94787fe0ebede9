//! The fault server, over raw sockets: what it does of S3, and each thing that can go wrong with it.

mod client;
mod faults;
mod links;
mod surface;
