//! demo
use crate::args::Global;
use crate::exit::Failure;
use crate::output::Output;
pub(crate) fn main(_: &Global, _: Output) -> Result<u8, Failure> {
    Ok(0)
}
