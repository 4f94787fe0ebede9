//! `tenure dev-store`: an S3 endpoint in memory to develop against, well or with faults.

mod trouble;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::json;
use tenure_blocking::{Bucket, Settings};
use tenure_sim::server::{Keys, Options, Server};

use crate::args::{DevStoreArgs, Global};
use crate::exit::Failure;
use crate::output::Output;
use crate::signals::{Signals, runtime};

pub(crate) use trouble::{Trouble, help, trouble};

/// Fixed, so that what was pasted once goes on working, and no secret: the store is on this machine only.
const ACCESS_KEY: &str = "tenure";
const SECRET: &str = "dev-store";
const REGION: &str = "us-east-1";

pub(crate) fn main(global: &Global, args: &DevStoreArgs, output: Output) -> Result<u8, Failure> {
    if std::env::args_os().any(|word| word.to_string_lossy().split('=').next() == Some("--store")) {
        return Err(Failure::usage("dev-store is a store itself; leave --store out"));
    }
    runtime()?.block_on(async {
        let mut signals = Signals::listen(&[Signal::HUP, Signal::INT, Signal::TERM])?;
        let server = start(args)?;
        // Nobody need read it for the store to be of use.
        let _ = output.text(&if global.json { line(&server, args) } else { exports(&server, args) })?;
        if !server.address().ip().is_loopback() {
            warn(&server);
        }
        signals.next().await;
        Ok(0)
    })
}

fn start(args: &DevStoreArgs) -> Result<Server, Failure> {
    let options = Options {
        listen: args.listen,
        bucket: args.bucket.clone(),
        verify: Some(Arc::new(Keys::new(ACCESS_KEY, SECRET, None))),
        seed: args.seed,
        keeps_history: false,
        ..Options::default()
    };
    let server = Server::start(options).map_err(|error| {
        let (listen, free) = (args.listen, "--listen 127.0.0.1:0 takes a free port");
        Failure::unavailable(format_args!("{listen} cannot be listened on: {error}; {free}"))
    })?;
    // What is printed below must be understood by the other commands.
    let settings = Settings { endpoint: Some(endpoint(&server)), ..Settings::default() };
    Bucket::parse(&url(args), &settings).map_err(Failure::usage)?;
    server.faults(args.fault.iter().map(|fault| fault.0.clone()));
    Ok(server)
}

fn url(args: &DevStoreArgs) -> String {
    format!("s3://{}", args.bucket)
}

/// Returns the URL by which this machine reaches the server, wherever else it listens.
fn endpoint(server: &Server) -> String {
    let mut address = server.address();
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() {
            [127, 0, 0, 1].into()
        } else {
            [0, 0, 0, 0, 0, 0, 0, 1].into()
        });
    }
    format!("http://{address}")
}

/// Spells what a shell must be told, as a script.
fn exports(server: &Server, args: &DevStoreArgs) -> String {
    let mut text = String::from(
        "# An S3 endpoint in memory: what it stores is gone when it ends, with Ctrl-C.\n\
         # Paste this into another shell, or eval it there.\n",
    );
    for fault in &args.fault {
        text += &format!("# fault: {fault}\n");
    }
    for (name, value) in settings(server, args) {
        text += &format!("export {name}={value}\n");
    }
    // They would win over what is set here.
    text + "unset AWS_SESSION_TOKEN AWS_ENDPOINT_URL_S3\n"
}

/// Spells the same for a program.
fn line(server: &Server, args: &DevStoreArgs) -> String {
    let faults: Vec<String> = args.fault.iter().map(ToString::to_string).collect();
    let line = json!({
        "event": "listening",
        "endpoint": endpoint(server),
        "environment": settings(server, args),
        "faults": faults,
        "store": url(args),
    });
    format!("{line}\n")
}

fn settings(server: &Server, args: &DevStoreArgs) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_ENDPOINT_URL", endpoint(server)),
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("TENURE_STORE", url(args)),
    ])
}

fn warn(server: &Server) {
    let address = server.address();
    let text = format!(
        "tenure: warning: {address} is not a loopback address: whoever reaches it can read and write, for the keys of \
         dev-store are no secret\n"
    );
    // If that fails there is nobody left to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}
