//! Requests to a configuration of many schemas, the last of which nearly all of them reach.

use apf_config::attributes::RequestAttributes;
use apf_config::plan::Plan;
use apf_config::{Strictness, load_str};
use apf_core::FlowHash;
use std::fmt::Write;

/// A compiled configuration and the requests put to it in turn.
pub struct Classification {
    plan: Plan,
    users: Vec<String>,
    turn: usize,
}

impl Classification {
    /// A configuration of this many schemas of one service account each, over the built-in ones.
    pub fn new(schemas: u32) -> Self {
        let mut manifests = String::new();
        for index in 0..schemas {
            write!(
                manifests,
                "---\napiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {{name: schema-{index}}}\n\
                 spec:\n  priorityLevelConfiguration: {{name: catch-all}}\n  matchingPrecedence: {}\n  \
                 distinguisherMethod: {{type: ByUser}}\n  rules:\n  - subjects:\n    - kind: ServiceAccount\n      \
                 serviceAccount: {{namespace: team-{index}, name: worker}}\n    resourceRules:\n    \
                 - {{verbs: [list, watch], apiGroups: ['*'], resources: [pods, nodes], namespaces: ['*'], clusterScope: true}}\n",
                index + 2, // 1 is reserved
            )
            .expect("writing to a string");
        }
        let loaded = load_str("schemas.yaml", &manifests, Strictness::Strict);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics.first());
        assert_eq!(loaded.objects.flow_schemas.len(), schemas as usize);
        let plan = Plan::compile(&loaded.objects, 600, FlowHash::Xxh3).expect("a valid configuration");
        // The first, the middle and the last schema, and nobody's request.
        let users = [0, schemas / 2, schemas - 1, schemas]
            .map(|index| format!("system:serviceaccount:team-{index}:worker"))
            .to_vec();
        Self { plan, users, turn: 0 }
    }

    /// Classifies the next request; answers its schema's position.
    pub fn cycle(&mut self) -> usize {
        self.turn = (self.turn + 1) % self.users.len();
        let user = self.users.get(self.turn).map_or("", String::as_str);
        let request = RequestAttributes::resource("list", "pods")
            .by(user, &["system:serviceaccounts", "system:authenticated"] as &[&str])
            .in_namespace("default");
        self.plan.classify(&request).schema
    }
}
