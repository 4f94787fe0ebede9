//! How a cell is claimed, held, released and transferred.

mod common;

use common::{Scenario, check};

#[test]
fn a_fresh_cell_is_claimed_with_one_read_and_one_write() {
    check(
        Scenario::joined(),
        r#"
        t=5    claim a
               -> read r1 cells/a/own.json
        t=20   r1 missing
               -> write w2 cells/a/own.json absent node=me epoch=1
        t=40   w2 applied
               -> done t1 claimed epoch=1
               tenure a
                      -> epoch=1
        "#,
    );
}
