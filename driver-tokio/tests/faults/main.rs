//! Fleets of real nodes on the fault server: what the store's own history says of them afterwards.

mod blocking;
mod dark;
mod fleet;
mod judge;
mod listing;
mod rivals;
mod storm;
mod unfit;
