package apfgrpc_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	apf "apf.invalid/bindings/go"
	apfgrpc "apf.invalid/bindings/go-grpc"
)

const oneSeat = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: test}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 1
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 1}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: health}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: test}
  rules:
  - subjects: [{kind: User, user: {name: "*"}}]
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["/grpc.health.v1.Health/*"]}]
`

// health answers what it is told to.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	check func(context.Context)
	watch func(context.Context)
}

func (h *health) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	h.check(ctx)
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

func (h *health) Watch(_ *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	h.watch(stream.Context())
	return stream.Send(&grpc_health_v1.HealthCheckResponse{})
}

func start(t *testing.T, h *health, change func(*apfgrpc.Options)) (*apf.Dispatcher, grpc_health_v1.HealthClient) {
	t.Helper()
	d, err := apf.New(apf.Options{Seats: 6, Config: apf.Config{Text: oneSeat, MandatoryOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	options := apfgrpc.Options{
		Dispatcher: d, WaitLimit: 30 * time.Millisecond,
		User: func(context.Context) (string, []string, error) { return "alice", nil, nil },
	}
	if change != nil {
		change(&options)
	}
	recovering := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (_ any, err error) {
		defer func() {
			if recover() != nil {
				err = status.Error(codes.Internal, "panic")
			}
		}()
		return handler(ctx, request)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(recovering, apfgrpc.Unary(options)), grpc.StreamInterceptor(apfgrpc.Stream(options)))
	grpc_health_v1.RegisterHealthServer(server, h)
	listener := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return d, grpc_health_v1.NewHealthClient(connection)
}

func seatsInUse(t *testing.T, d *apf.Dispatcher) uint64 {
	t.Helper()
	stats, err := d.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats.Level("test").SeatsInUse
}

func TestACallHoldsItsSeatUntilItsHandlerReturns(t *testing.T) {
	h := &health{}
	d, client := start(t, h, nil)
	h.check = func(context.Context) {
		if n := seatsInUse(t, d); n != 1 {
			t.Errorf("%d seats in use", n)
		}
	}
	if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := seatsInUse(t, d); n != 0 {
		t.Errorf("%d seats in use", n)
	}
}

func TestARefusalSaysWhenToComeBack(t *testing.T) {
	d, client := start(t, &health{check: func(context.Context) { t.Error("served") }, watch: func(context.Context) { t.Error("served") }}, nil)
	held, err := d.Acquire(t.Context(), &apf.Request{User: "bob", Verb: "post", Path: "/grpc.health.v1.Health/Check"})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	check := func(err error, trailer metadata.MD) {
		t.Helper()
		s := status.Convert(err)
		if s.Code() != codes.ResourceExhausted || len(s.Details()) != 1 {
			t.Fatalf("got %v", err)
		}
		if retry, is := s.Details()[0].(*errdetails.RetryInfo); !is || retry.RetryDelay.AsDuration() != time.Second {
			t.Errorf("got %v", s.Details())
		}
		if values := trailer.Get("retry-after"); len(values) != 1 || values[0] != "1" {
			t.Errorf("got %v", trailer)
		}
	}
	var trailer metadata.MD
	_, err = client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.Trailer(&trailer))
	check(err, trailer)
	stream, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	check(err, stream.Trailer())
}

func TestAPanicGivesTheSeatBack(t *testing.T) {
	d, client := start(t, &health{check: func(context.Context) { panic("on purpose") }}, nil)
	for range 10 {
		if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Internal {
			t.Fatalf("got %v", err)
		}
	}
	if n := seatsInUse(t, d); n != 0 {
		t.Errorf("%d seats in use", n)
	}
}

func TestAStreamGivesItsSeatBackWhenItIsInitialized(t *testing.T) {
	h := &health{}
	d, client := start(t, h, nil)
	h.watch = func(ctx context.Context) {
		if n := seatsInUse(t, d); n != 1 {
			t.Errorf("%d seats in use", n)
		}
		apfgrpc.StreamInitialized(ctx)
		apfgrpc.StreamInitialized(ctx)
		if n := seatsInUse(t, d); n != 0 {
			t.Errorf("%d seats in use", n)
		}
	}
	stream, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
}

func TestWhoHasNoNameAndWhatPassesBy(t *testing.T) {
	nobody := status.Error(codes.Unauthenticated, "who are you?")
	served := 0
	h := &health{check: func(context.Context) { served++ }}
	_, client := start(t, h, func(o *apfgrpc.Options) {
		o.User = func(context.Context) (string, []string, error) { return "", nil, nobody }
	})
	if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Unauthenticated || served != 0 {
		t.Errorf("got %v", err)
	}
	d, client := start(t, h, func(o *apfgrpc.Options) {
		o.PassBy = func(method string) bool { return method == "/grpc.health.v1.Health/Check" }
	})
	d.Close()
	if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil || served != 1 {
		t.Errorf("got %v", err)
	}
	h.watch = func(context.Context) { t.Error("served") }
	stream, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestACallersDeadlineEndsTheWait(t *testing.T) {
	d, client := start(t, &health{check: func(context.Context) { t.Error("served") }}, func(o *apfgrpc.Options) { o.WaitLimit = time.Minute })
	held, err := d.Acquire(t.Context(), &apf.Request{User: "bob", Verb: "post", Path: "/grpc.health.v1.Health/Check"})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err = client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if status.Code(err) != codes.ResourceExhausted || time.Since(begun) > 300*time.Millisecond {
		t.Errorf("got %v after %v", err, time.Since(begun))
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("it has waited for all of its time")
	}
}
