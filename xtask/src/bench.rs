//! placeholder
use crate::shell::Stop;
pub(crate) fn command(_args: lexopt::Parser) -> Result<(), Stop> {
    Ok(())
}
