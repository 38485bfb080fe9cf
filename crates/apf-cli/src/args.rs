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
    /// Run a scenario file on simulated time
    #[command(after_help = SIMULATE_HELP)]
    Simulate(Simulate),
    /// Run recorded audit logs through a configuration, or through two and compare
    #[command(after_help = REPLAY_HELP)]
    Replay(Replay),
    /// Tell the story of a noisy list client on the engine, in simulated time
    #[command(after_help = DEMO_HELP)]
    Demo(Demo),
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
const SIMULATE_HELP: &str = help!(
    "  apf simulate scenario.yaml
  apf simulate fairness.yaml --check"
);
const REPLAY_HELP: &str = help!(
    "  apf replay audit.log audit-*.log.gz --seats 600
  apf replay audit.log -f today.yaml --against tomorrow.yaml --seats 600
  apf replay audit.log --seats 20 -o csv --section adjustments"
);
const DEMO_HELP: &str = help!(
    "  apf demo
  apf demo --exact --details
  apf demo --live"
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
#[command(group = clap::ArgGroup::new("target").required(true).args(["resource", "path", "url"]))]
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
    #[arg(long, conflicts_with = "method", requires = "verb")]
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
    #[arg(long, conflicts_with = "method")]
    pub(crate) path: Option<String>,

    /// HTTP method, with --url [default: GET]
    #[arg(long, requires = "url")]
    pub(crate) method: Option<String>,

    /// Path and query of any request, from which the rest is derived
    #[arg(long)]
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

/// Which parts of a report are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    /// Requests, waits, rejections and seats by level, schema and client
    Traffic,
    /// Limits by level, and how many seats were borrowed and lent
    Seats,
    /// Every change of the current limits over time
    Adjustments,
    /// What was met in the audit logs
    Input,
    /// The difference of two configurations
    Difference,
}

#[derive(Debug, Group)]
pub(crate) struct Simulate {
    /// Scenario file, see docs/scenarios.md
    pub(crate) file: PathBuf,

    /// Compare with what the file expects; exit code 1 when a row does not hold
    #[arg(long)]
    pub(crate) check: bool,

    /// Decide exactly as kube-apiserver does, with its flow hash
    #[arg(long)]
    pub(crate) exact: bool,

    /// Seed of the random numbers, instead of the file's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Print only this part (csv prints one part, traffic unless this says otherwise)
    #[arg(long, value_enum, conflicts_with = "check")]
    pub(crate) section: Option<Section>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// `--request-timeout`, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeout(pub(crate) u64);

fn timeout(text: &str) -> Result<Timeout, String> {
    let duration = apf_sim::GoDuration::parse(text)?;
    match duration.unsigned() {
        Some(ns @ 1..) => Ok(Timeout(ns)),
        _ => Err("must be longer than 0".to_owned()),
    }
}

#[derive(Debug, Group)]
pub(crate) struct Replay {
    /// Audit logs, plain or gzip, or - for standard input
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) seats: Seats,

    #[command(flatten)]
    pub(crate) manifests: Manifests,

    /// A second configuration to compare with; may be repeated like -f
    #[arg(long, value_name = "PATH", action = ArgAction::Append)]
    pub(crate) against: Vec<PathBuf>,

    /// Decide exactly as kube-apiserver does, with its flow hash
    #[arg(long)]
    pub(crate) exact: bool,

    /// Mean durations for requests whose log has none, such as get=2ms,list=50ms
    #[arg(long, value_name = "VERB=DURATION,...")]
    pub(crate) durations: Option<String>,

    /// Seats of each list
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) list_seats: u64,

    /// --request-timeout of the server, such as 1m0s; a request waits at most a quarter of it
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = timeout, allow_hyphen_values = true)]
    pub(crate) request_timeout: Timeout,

    /// Print only this part (csv prints one part, traffic unless this says otherwise)
    #[arg(long, value_enum)]
    pub(crate) section: Option<Section>,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Group)]
pub(crate) struct Demo {
    /// Decide exactly as kube-apiserver does, with its flow hash
    #[arg(long)]
    pub(crate) exact: bool,

    /// Print dump_requests with the details of each request
    #[arg(long)]
    pub(crate) details: bool,

    /// Run on threads and the real clock, for 48 seconds, instead of on simulated time
    #[arg(long)]
    pub(crate) live: bool,
}
