//! The table in `docs/failures.md` and the tests that it names are one: no row without tests, no test without a row.

#![allow(missing_docs, reason = "tests are documented by their names")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The numbers in the name of a test: `bl_13_bl_48_a_name` has two.
fn numbers(test: &str) -> BTreeSet<&str> {
    let parts: Vec<_> = test.split('_').collect();
    parts.windows(2).filter(|two| two[0] == "bl" && two[1].len() == 2).map(|two| two[1]).collect()
}

#[test]
fn every_row_names_tests_that_exist_and_every_number_has_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/failures.md")).expect("the table");
    let rows = rows(&page);
    let mut tests = BTreeSet::new();
    for package in ["cli", "core", "driver-blocking", "driver-tokio", "s3", "sim"] {
        for folder in ["src", "tests"] {
            collect(&root.join(package).join(folder), &mut tests);
        }
    }
    assert!(tests.len() > 100, "the sources were not found: {}", tests.len());
    for (number, named) in &rows {
        assert!(!named.is_empty(), "{number} names no test");
        for name in named {
            assert!(tests.contains(name), "{number}: there is no test {name}");
        }
        assert!(named.iter().any(|name| numbers(name).contains(number)), "{number} has no test of its own");
    }
    for test in &tests {
        let numbers = numbers(test);
        assert!(!numbers.is_empty(), "{test} has no number");
        assert!(numbers.iter().all(|number| rows.contains_key(number)), "{test} has no row");
    }
}

#[test]
fn a_row_is_found_with_all_of_its_tests_and_a_test_with_all_of_its_numbers() {
    let page =
        "| no. | a | b | c |\n| --- | --- | --- | --- |\n| 13 | x `run` | y | `bl_13_a` `bl_13_bl_48_b` |\n";
    assert_eq!(rows(page), BTreeMap::from([("13", vec!["bl_13_a".to_owned(), "bl_13_bl_48_b".to_owned()])]));
    assert_eq!(numbers("bl_13_bl_48_b"), BTreeSet::from(["13", "48"]));
    assert_eq!(numbers("a_label_bl_x"), BTreeSet::new());
}

/// Returns the tests that each row of the table names.
fn rows(page: &str) -> BTreeMap<&str, Vec<String>> {
    let mut rows = BTreeMap::new();
    for line in page.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, number, .., tests, ""] = cells[..] else { continue };
        if number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit()) {
            let names = tests.split('`').filter(|text| !text.trim().is_empty()).map(str::to_owned).collect();
            assert_eq!(rows.insert(number, names), None, "{number} has two rows");
        }
    }
    rows
}

/// Adds the names of all functions whose names begin with `bl_`.
fn collect(folder: &Path, tests: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("text");
            let names = text.lines().filter_map(|line| {
                let line = line.trim_start();
                let name = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?;
                name.starts_with("bl_").then(|| name.split('(').next().unwrap_or(name).to_owned())
            });
            tests.extend(names);
        }
    }
}
