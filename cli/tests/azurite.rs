//! The commands on Azure Blob Storage, as Azurite is it:
//!
//! ```text
//! .ci/with-stores --stores azurite cargo test --package tenure --features object-store,store-tests --test azurite
//! ```

use std::env;
use std::process::{Command, Output};

use serde_json::Value;
use tenure_blocking::clock;

/// A prefix that no other run uses.
struct Place(String);

impl Place {
    fn new() -> Self {
        Self(format!("az://{}/cli-{:x}", variable("TENURE_TEST_BUCKET"), clock::now().wall.as_nanos()))
    }

    fn tenure(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["--store", &self.0, "--endpoint", &variable("TENURE_TEST_AZURITE")]);
        command.args(["--ttl", "3s"]).args(args).output().expect("the command runs")
    }

    /// Runs a command that prints one JSON object.
    fn object(&self, args: &[&str]) -> Value {
        let done = self.tenure(&[args, &["--json"]].concat());
        assert!(done.status.success(), "{args:?}: {done:?}");
        serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {done:?}"))
    }
}

fn variable(name: &str) -> String {
    env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; run this by .ci/with-stores --stores azurite"))
}

#[test]
fn a_cell_is_held_while_a_command_runs_and_the_commands_that_look_see_whose_it_was() {
    let place = Place::new();
    assert_eq!(place.object(&["owner", "nightly"])["state"], "free");
    for epoch in ["1", "2"] {
        let done = place.tenure(&["run", "--cell", "nightly", "--", "sh", "-c", "echo $TENURE_EPOCH"]);
        assert!(done.status.success(), "{done:?}");
        assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), epoch);
    }
    let cell = place.object(&["cells"]);
    assert_eq!((&cell["cell"], &cell["node"], &cell["epoch"]), (&"nightly".into(), &"".into(), &2.into()));
    let nodes = place.tenure(&["nodes", "--json"]);
    assert!(nodes.status.success(), "{nodes:?}");
}

#[test]
fn the_doctor_finds_it_fit() {
    let done = Place::new().tenure(&["doctor", "--rounds", "5"]);
    println!("{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(done.status.code(), Some(0), "{done:?}");
}

#[test]
fn a_container_that_is_not_there_is_a_matter_of_configuration() {
    let place = Place("az://tenure-none/p".to_owned());
    let done = place.tenure(&["owner", "c"]);
    assert_eq!(done.status.code(), Some(78), "{done:?}");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("ContainerNotFound"), "{said}");
}
