package apfk8s

import (
	"slices"
	"strings"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	fc "k8s.io/apiserver/pkg/util/flowcontrol"
)

// objects are a configuration as it is in force: what the API has, and the mandatory objects that it lacks.
type objects struct {
	// schemas are those whose level exists, in the order they are tried.
	schemas  []*flowcontrol.FlowSchema
	catchAll *flowcontrol.FlowSchema
	levels   map[string]*flowcontrol.PriorityLevelConfiguration
}

func newObjects(schemas []*flowcontrol.FlowSchema, levels []*flowcontrol.PriorityLevelConfiguration) *objects {
	o := &objects{levels: map[string]*flowcontrol.PriorityLevelConfiguration{}}
	for _, level := range bootstrap.MandatoryPriorityLevelConfigurations {
		o.levels[level.Name] = level
	}
	for _, level := range levels {
		o.levels[level.Name] = level
	}
	has := map[string]bool{}
	for _, schema := range schemas {
		has[schema.Name] = true
	}
	for _, schema := range schemas {
		if o.levels[schema.Spec.PriorityLevelConfiguration.Name] != nil {
			o.schemas = append(o.schemas, schema)
		}
	}
	slices.SortFunc(o.schemas, func(a, b *flowcontrol.FlowSchema) int {
		if a.Spec.MatchingPrecedence != b.Spec.MatchingPrecedence {
			return int(a.Spec.MatchingPrecedence) - int(b.Spec.MatchingPrecedence)
		}
		return strings.Compare(a.Name, b.Name)
	})
	if !has[flowcontrol.FlowSchemaNameExempt] {
		o.schemas = slices.Insert(o.schemas, 0, bootstrap.MandatoryFlowSchemaExempt)
	}
	if !has[flowcontrol.FlowSchemaNameCatchAll] {
		o.schemas = append(o.schemas, bootstrap.MandatoryFlowSchemaCatchAll)
	}
	o.catchAll = bootstrap.MandatoryFlowSchemaCatchAll
	for _, schema := range o.schemas {
		if schema.Name == flowcontrol.FlowSchemaNameCatchAll {
			o.catchAll = schema
		}
	}
	return o
}

// classify finds a request's schema, level and flow distinguisher, as the engine does when the request is submitted.
func (o *objects) classify(digest fc.RequestDigest) (*flowcontrol.FlowSchema, *flowcontrol.PriorityLevelConfiguration, string) {
	schema := o.catchAll
	for _, candidate := range o.schemas {
		if slices.ContainsFunc(candidate.Spec.Rules, func(rule flowcontrol.PolicyRulesWithSubjects) bool { return applies(&rule, digest) }) {
			schema = candidate
			break
		}
	}
	level := o.levels[schema.Spec.PriorityLevelConfiguration.Name]
	return schema, level, distinguisher(schema, level, digest)
}

func distinguisher(schema *flowcontrol.FlowSchema, level *flowcontrol.PriorityLevelConfiguration, digest fc.RequestDigest) string {
	limited := level.Spec.Limited
	if limited == nil || limited.LimitResponse.Queuing == nil || limited.LimitResponse.Queuing.Queues <= 1 ||
		schema.Spec.DistinguisherMethod == nil {
		return ""
	}
	if schema.Spec.DistinguisherMethod.Type == flowcontrol.FlowDistinguisherMethodByUserType {
		return digest.User.GetName()
	}
	return digest.RequestInfo.Namespace
}

func applies(rule *flowcontrol.PolicyRulesWithSubjects, digest fc.RequestDigest) bool {
	if !slices.ContainsFunc(rule.Subjects, func(s flowcontrol.Subject) bool { return names(&s, digest) }) {
		return false
	}
	if digest.RequestInfo.IsResourceRequest {
		return slices.ContainsFunc(rule.ResourceRules, func(r flowcontrol.ResourcePolicyRule) bool { return asksFor(&r, digest) })
	}
	return slices.ContainsFunc(rule.NonResourceRules, func(r flowcontrol.NonResourcePolicyRule) bool {
		return listed(digest.RequestInfo.Verb, r.Verbs) &&
			slices.ContainsFunc(r.NonResourceURLs, func(url string) bool { return below(digest.RequestInfo.Path, url) })
	})
}

const serviceAccountPrefix = "system:serviceaccount:"

func names(subject *flowcontrol.Subject, digest fc.RequestDigest) bool {
	user := digest.User.GetName()
	switch {
	case subject.Kind == flowcontrol.SubjectKindUser && subject.User != nil:
		return subject.User.Name == flowcontrol.NameAll || subject.User.Name == user
	case subject.Kind == flowcontrol.SubjectKindGroup && subject.Group != nil:
		return subject.Group.Name == flowcontrol.NameAll || slices.Contains(digest.User.GetGroups(), subject.Group.Name)
	case subject.Kind == flowcontrol.SubjectKindServiceAccount && subject.ServiceAccount != nil:
		of := serviceAccountPrefix + subject.ServiceAccount.Namespace + ":"
		if subject.ServiceAccount.Name == flowcontrol.NameAll {
			return strings.HasPrefix(user, of)
		}
		return user == of+subject.ServiceAccount.Name
	}
	return false
}

func asksFor(rule *flowcontrol.ResourcePolicyRule, digest fc.RequestDigest) bool {
	info := digest.RequestInfo
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	if !listed(info.Verb, rule.Verbs) || !listed(resource, rule.Resources) || !listed(info.APIGroup, rule.APIGroups) {
		return false
	}
	if info.Namespace == "" {
		return rule.ClusterScope
	}
	return listed(info.Namespace, rule.Namespaces)
}

// listed: the text is in the list, or the list is `*` alone.
func listed(text string, list []string) bool {
	return len(list) == 1 && list[0] == "*" || slices.Contains(list, text)
}

// below: the path is that of the rule's URL, or below it.
func below(path, url string) bool {
	if url == "*" || url == path {
		return true
	}
	folder := strings.TrimSuffix(url, "*")
	if !strings.HasSuffix(folder, "/") {
		folder += "/"
	}
	return strings.HasPrefix(path, folder)
}
