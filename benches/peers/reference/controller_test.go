package reference

import (
	"context"
	"flag"
	"fmt"
	"io"
	"testing"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	fc "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
)

// silent keeps the controller's messages out of the benchmark's output.
func silent(b *testing.B) {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			b.Fatal(err)
		}
	}
	klog.SetOutput(io.Discard)
}

// objects are the built-in ones and so many schemas of one service account each, which come first.
func objects(schemas int) []runtime.Object {
	all := []runtime.Object{}
	for _, level := range append(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations...) {
		all = append(all, level.DeepCopy())
	}
	for _, schema := range append(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas...) {
		all = append(all, settled(schema.DeepCopy()))
	}
	for i := range schemas {
		all = append(all, settled(&flowcontrol.FlowSchema{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("schema-%d", i)},
			Spec: flowcontrol.FlowSchemaSpec{
				PriorityLevelConfiguration: flowcontrol.PriorityLevelConfigurationReference{Name: "catch-all"},
				MatchingPrecedence:         int32(i + 2),
				DistinguisherMethod:        &flowcontrol.FlowDistinguisherMethod{Type: flowcontrol.FlowDistinguisherMethodByUserType},
				Rules: []flowcontrol.PolicyRulesWithSubjects{{
					Subjects: []flowcontrol.Subject{{
						Kind:           flowcontrol.SubjectKindServiceAccount,
						ServiceAccount: &flowcontrol.ServiceAccountSubject{Namespace: fmt.Sprintf("team-%d", i), Name: "worker"},
					}},
					ResourceRules: []flowcontrol.ResourcePolicyRule{{
						Verbs: []string{"list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"pods", "nodes"},
						Namespaces: []string{"*"}, ClusterScope: true,
					}},
				}},
			},
		}))
	}
	return all
}

// settled carries the condition that the controller would otherwise write back while we measure.
func settled(schema *flowcontrol.FlowSchema) *flowcontrol.FlowSchema {
	schema.Status.Conditions = []flowcontrol.FlowSchemaCondition{{
		Type: flowcontrol.FlowSchemaConditionDangling, Status: flowcontrol.ConditionFalse, Reason: "Found",
		Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists",
			schema.Spec.PriorityLevelConfiguration.Name),
		LastTransitionTime: metav1.Now(),
	}}
	return schema
}

// BenchmarkController is a whole request through the controller: classified, admitted, executed, finished, counted.
func BenchmarkController(b *testing.B) {
	for _, schemas := range []int{0, 1000} {
		b.Run(fmt.Sprintf("schemas=%d", schemas), func(b *testing.B) {
			silent(b)
			metrics.Register()
			client := fake.NewSimpleClientset(objects(schemas)...)
			informers := informers.NewSharedInformerFactory(client, 0)
			controller := fc.New(informers, client.FlowcontrolV1(), 600)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			informers.Start(ctx.Done())
			go controller.Run(ctx.Done())

			digest := fc.RequestDigest{
				RequestInfo: &apirequest.RequestInfo{
					IsResourceRequest: true, Path: "/api/v1/namespaces/dev/pods", Verb: "list", Namespace: "dev", Resource: "pods",
				},
				User: &user.DefaultInfo{Name: "alice", Groups: []string{"system:authenticated"}},
			}
			var found string
			executed := 0
			note := func(_ *flowcontrol.FlowSchema, level *flowcontrol.PriorityLevelConfiguration, _ string) {
				found = level.Name
			}
			estimate := func() request.WorkEstimate { return request.WorkEstimate{InitialSeats: 1} }
			queued := func(bool) {}
			execute := func() { executed++ }
			handle := func() { controller.Handle(ctx, digest, note, estimate, queued, execute) }
			for deadline := time.Now().Add(30 * time.Second); found != "global-default"; handle() {
				if time.Now().After(deadline) {
					b.Fatal("the controller has not taken its configuration up")
				}
				time.Sleep(10 * time.Millisecond)
			}
			executed = 0
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				handle()
			}
			b.StopTimer()
			if executed != b.N || found != "global-default" {
				b.Fatalf("%d of %d requests were executed, the last in level %s", executed, b.N, found)
			}
		})
	}
}
