//! Blocking nodes, cells and stores, and the file store.

mod s3;
mod signing_clock;
mod store;

pub use s3::S3Store;
pub use store::Store;
pub use tenure_s3::{Bucket, BucketError, Credentials, CredentialsError, Setting, Settings, Style};
