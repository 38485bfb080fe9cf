// Package apfgrpc puts priority and fairness before the methods of a gRPC server.
//
//	server := grpc.NewServer(
//		grpc.UnaryInterceptor(apfgrpc.Unary(options)),
//		grpc.StreamInterceptor(apfgrpc.Stream(options)))
//
// A call holds its seats until its handler returns, also by a panic, which goes on. A stream may give them back earlier by
// [StreamInitialized]. A refused call ends with ResourceExhausted, a detail google.rpc.RetryInfo, and the trailer
// retry-after; one whose context ends while it waits ends with the context's code.
package apfgrpc

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	apf "apf.invalid/bindings/go"
)

// Options say how calls are admitted. Dispatcher and User are needed.
type Options struct {
	Dispatcher *apf.Dispatcher

	// User says who calls, after authentication. With an error the call ends with it, as a status.
	User func(ctx context.Context) (name string, groups []string, err error)

	// Request says what is asked for, by the full name of the method, such as /package.Service/Method. Nil means a path of that
	// name with the verb "post", for the nonResourceRules of a FlowSchema. User and groups are filled in.
	Request func(ctx context.Context, method string) apf.Request

	// WaitLimit is how long a call may wait at most; 0 means 15 s. A call with a deadline may wait for a quarter of what is
	// left of it.
	WaitLimit time.Duration

	// PassBy says which methods are not admitted, such as those of the health service; nil means none.
	PassBy func(method string) bool
}

func (o *Options) admit(ctx context.Context, method string) (*apf.Permit, error) {
	name, groups, err := o.User(ctx)
	if err != nil {
		return nil, err
	}
	request := apf.Request{Path: method, Verb: "post"}
	if o.Request != nil {
		request = o.Request(ctx, method)
	}
	request.User, request.Groups = name, groups
	request.WaitLimit = o.WaitLimit
	if request.WaitLimit == 0 {
		request.WaitLimit = 15 * time.Second
	}
	if deadline, found := ctx.Deadline(); found {
		request.WaitLimit = min(request.WaitLimit, time.Until(deadline)/4)
		if request.WaitLimit == 0 {
			request.WaitLimit = -1 // 0 would be no limit
		}
	}
	permit, err := o.Dispatcher.Acquire(ctx, &request)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	return permit, nil
}

// refusal is the status of a call that is not admitted.
func refusal(ctx context.Context, err error) error {
	var rejected *apf.RejectedError
	switch {
	case errors.As(err, &rejected):
		refused := status.New(codes.ResourceExhausted, "too many requests, please try again later")
		detailed, detailErr := refused.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(rejected.RetryAfter)})
		if detailErr != nil {
			return refused.Err()
		}
		return detailed.Err()
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, apf.ErrClosed):
		return status.Error(codes.Unavailable, "the server is shutting down")
	default:
		return status.Error(codes.Internal, err.Error())
	}
}

// retryAfter is the trailer of a refusal; nil for other errors.
func retryAfter(err error) metadata.MD {
	for _, detail := range status.Convert(err).Details() {
		if retry, found := detail.(*errdetails.RetryInfo); found {
			return metadata.Pairs("retry-after", strconv.FormatInt(retry.GetRetryDelay().GetSeconds(), 10))
		}
	}
	return nil
}

// Unary admits unary calls.
func Unary(options Options) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if options.PassBy != nil && options.PassBy(info.FullMethod) {
			return handler(ctx, request)
		}
		permit, err := options.admit(ctx, info.FullMethod)
		if err != nil {
			if trailer := retryAfter(err); trailer != nil {
				_ = grpc.SetTrailer(ctx, trailer)
			}
			return nil, err
		}
		defer permit.Release()
		return handler(ctx, request)
	}
}

// Stream admits streams.
func Stream(options Options) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if options.PassBy != nil && options.PassBy(info.FullMethod) {
			return handler(server, stream)
		}
		permit, err := options.admit(stream.Context(), info.FullMethod)
		if err != nil {
			if trailer := retryAfter(err); trailer != nil {
				stream.SetTrailer(trailer)
			}
			return err
		}
		defer permit.Release()
		ctx := context.WithValue(stream.Context(), permitKey{}, permit)
		return handler(server, &admittedStream{stream, ctx})
	}
}

type permitKey struct{}

type admittedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context has the permit.
func (s *admittedStream) Context() context.Context { return s.ctx }

// StreamInitialized gives the seats of a stream back although it goes on: for watches, when all that there is has been sent.
// It may be called more than once, and does nothing for a call that was not admitted.
func StreamInitialized(ctx context.Context) {
	permit, _ := ctx.Value(permitKey{}).(*apf.Permit)
	permit.ReleaseEarly()
}
