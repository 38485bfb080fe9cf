//! The command line: what each command takes.

use std::path::PathBuf;

use clap::{ArgAction, Args as Group, Parser, Subcommand, ValueEnum};

use crate::print::Format;

/// Shown below every help text.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done, and nothing to complain of
  1  an input was refused, or something that was checked does not hold
  2  the command line was not understood, or a file cannot be read

Results go to standard output, messages to standard error. A command that ends with
`error:` has written nothing to standard output.";

/// Kubernetes API Priority and Fairness, away from the API server: checks manifests, explains where a
/// request goes, computes limits, simulates load and replays audit logs.
#[derive(Debug, Parser)]
#[command(name = "apf", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Validate FlowSchemas and PriorityLevelConfigurations, and point out what may not be meant
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// Say which FlowSchema and level a request hits, and why the earlier schemas did not match
    #[command(after_help = EXPLAIN_HELP)]
    Explain(Explain),
    /// Write objects in another version of the API group
    #[command(after_help = CONVERT_HELP)]
    Convert(Convert),
    /// Print the seats of every priority level
    #[command(after_help = LIMITS_HELP)]
    Limits(Limits),
    /// Print the completion script of a shell
    #[command(after_help = EXIT_CODES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

macro_rules! help {
    ($examples:literal) => {
        concat!(
            "Examples:\n",
            $examples,
            "\n\nExit codes: 0 done; 1 input refused, or a check does not hold; 2 usage, or a file cannot be read."
        )
    };
}

const CHECK_HELP: &str = help!(
    "  apf check manifests/
  kubectl get flowschemas,prioritylevelconfigurations -o yaml | apf check -
  apf check --lenient -o json old.yaml"
);
const EXPLAIN_HELP: &str = help!(
    "  apf explain --user system:serviceaccount:demo:bot --verb list --resource pods --namespace demo
  apf explain -f my.yaml --user alice --groups dev --method GET --url '/api/v1/pods?watch=1'
  apf explain --user system:anonymous --path /healthz"
);
const CONVERT_HELP: &str = help!(
    "  apf convert --to v1 old.yaml
  apf convert --to v1beta3 -o json - < new.yaml"
);
const LIMITS_HELP: &str = help!(
    "  apf limits --seats 600
  apf limits --seats 600 -f my.yaml -o csv"
);
/// Where a configuration comes from.
#[derive(Debug, Clone, Group)]
pub(crate) struct Manifests {
    /// Manifests laid over the built-in objects: a file, a folder, or - for standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "PATH", action = ArgAction::Append)]
    pub(crate) filename: Vec<PathBuf>,

    /// Take unknown fields, and fields written twice, as warnings
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, Group)]
pub(crate) struct Output {
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    pub(crate) output: Format,
}

#[derive(Debug, Group)]
pub(crate) struct Check {
    /// Files and folders (*.yaml, *.yml, *.json, with their subfolders), or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Unknown fields, and fields written twice, are errors, as for `kubectl apply` [default]
    #[arg(long, conflicts_with = "lenient")]
    pub(crate) strict: bool,

    /// Unknown fields, and fields written twice, are warnings
    #[arg(long)]
    pub(crate) lenient: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Group)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) manifests: Manifests,

    /// User name, after authentication and impersonation
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,

    /// Groups of the user, separated by commas; may be repeated. Without it: those that the name implies
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',', action = ArgAction::Append)]
    pub(crate) groups: Option<Vec<String>>,

    /// API verb of a resource request, or lower-case HTTP method with --path [default there: get]
    #[arg(long, conflicts_with_all = ["method", "url"])]
    pub(crate) verb: Option<String>,

    /// Resource, plural: pods, or pods/status
    #[arg(long, conflicts_with_all = ["path", "method", "url"], requires = "verb")]
    pub(crate) resource: Option<String>,

    /// API group of the resource [default: the core group]
    #[arg(long, value_name = "GROUP", requires = "resource")]
    pub(crate) api_group: Option<String>,

    /// Namespace of the request [default: none]
    #[arg(short, long, requires = "resource")]
    pub(crate) namespace: Option<String>,

    /// Name of the object [default: none]
    #[arg(long, requires = "resource")]
    pub(crate) name: Option<String>,

    /// Subresource [default: none]
    #[arg(long, requires = "resource")]
    pub(crate) subresource: Option<String>,

    /// Path of a request that is not for a resource: /healthz
    #[arg(long, conflicts_with_all = ["method", "url"])]
    pub(crate) path: Option<String>,

    /// HTTP method, with --url [default: GET]
    #[arg(long, requires = "url")]
    pub(crate) method: Option<String>,

    /// Path and query of any request, from which the rest is derived
    #[arg(long, required_unless_present_any = ["resource", "path"])]
    pub(crate) url: Option<String>,

    /// Hash that deals the hand of queues; sha256 is the one of kube-apiserver
    #[arg(long, value_enum, value_name = "HASH", default_value_t = Hash::Sha256)]
    pub(crate) flow_hash: Hash,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// `--flow-hash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hash {
    /// As kube-apiserver and exact mode
    Sha256,
    /// The faster one of default mode
    Xxh3,
}

#[derive(Debug, Group)]
pub(crate) struct Convert {
    /// Version to write
    #[arg(long, value_enum, value_name = "VERSION")]
    pub(crate) to: TargetVersion,

    /// A file or folder, or - for standard input
    pub(crate) file: PathBuf,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ManifestFormat::Yaml)]
    pub(crate) output: ManifestFormat,

    /// Take unknown fields, and fields written twice, as warnings
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetVersion {
    V1,
    V1beta3,
    V1beta2,
    V1beta1,
}

/// `-o` of `convert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManifestFormat {
    /// A stream of documents
    Yaml,
    /// One object, or a List
    Json,
}

/// `--seats`.
#[derive(Debug, Clone, Copy, Group)]
pub(crate) struct Seats {
    /// Seats of the whole server: --max-requests-inflight plus --max-mutating-requests-inflight
    #[arg(long, value_name = "N", value_parser = seats, allow_negative_numbers = true)]
    pub(crate) seats: u32,
}

fn seats(text: &str) -> Result<u32, String> {
    let number: i64 = text.parse().map_err(|_| format!("not a number from 1 to {}", i32::MAX))?;
    apf_config::plan::total_seats(number).map_err(|error| error.to_string())
}

#[derive(Debug, Group)]
pub(crate) struct Limits {
    #[command(flatten)]
    pub(crate) seats: Seats,

    #[command(flatten)]
    pub(crate) manifests: Manifests,

    #[command(flatten)]
    pub(crate) output: Output,
}
