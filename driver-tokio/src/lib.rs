//! Async nodes, cells and stores on tokio.

mod s3;
mod signing_clock;
mod store;

pub use s3::S3Store;
pub use store::Store;
pub use tenure_s3::{Bucket, BucketError, Credentials, CredentialsError, Setting, Settings, Style};
