//! `apf convert`: the objects of a file in another version.

use apf_config::{Format, Object, Version, load, load_as_written, write};

use crate::args::{Convert, ManifestFormat, TargetVersion};
use crate::failure::{Failure, Outcome};
use crate::finding::Finding;
use crate::input;
use crate::print::{self, Label};

pub(super) fn run(args: &Convert) -> Result<Outcome, Failure> {
    let strictness = input::strictness(args.lenient);
    let (sources, unread) = input::sources(std::slice::from_ref(&args.file));
    let mut decoded = load_as_written(&sources, strictness);
    decoded.diagnostics.extend(unread);
    input::refuse_errors(&decoded)?;
    let objects: Vec<Object> = decoded.items.iter().map(|item| item.object.clone()).collect();
    if objects.is_empty() {
        let file = args.file.display();
        return Err(Failure::refused(format!(
            "{file}: no FlowSchema and no PriorityLevelConfiguration in it"
        )));
    }
    let format = match args.output {
        ManifestFormat::Yaml => Format::Yaml,
        ManifestFormat::Json => Format::Json,
    };
    let written = write(&objects, version(args.to), format).map_err(Failure::refused)?;

    // Conversion itself judges nothing, so that nothing is lost; what a server would say is worth knowing all the same.
    let judged = load(&sources, strictness);
    for diagnostic in judged.diagnostics.into_iter().chain(written.warnings) {
        print::message(Label::Warning, &Finding::from(diagnostic).without_level());
    }
    for (kind, count) in &decoded.skipped {
        print::message(Label::Note, &format!("{}: {kind} not converted: {count}", args.file.display()));
    }
    print::result(&written.text);
    Ok(Outcome::Good)
}

fn version(target: TargetVersion) -> Version {
    match target {
        TargetVersion::V1 => Version::V1,
        TargetVersion::V1beta3 => Version::V1Beta3,
        TargetVersion::V1beta2 => Version::V1Beta2,
        TargetVersion::V1beta1 => Version::V1Beta1,
    }
}
