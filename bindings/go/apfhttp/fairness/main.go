// Command fairness shows what the middleware does for a quiet client beside a noisy one.
//
//	go run ./apfhttp/fairness
//
// A server in a process of its own has eight slots of a backend, each request uses one for ten milliseconds, and sleeps. A
// quiet client asks 20 times a second, a noisy one 50 times as often, both at fixed times whatever the answers are. The
// command prints the quiet client's latency alone and beside the noisy one, without the middleware and with it.
//
// Exit code 1 when, three times in a row, the quiet client's p99 is more than three times its lone value with the middleware,
// or is not without it.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	apf "apf.invalid/bindings/go"
	"apf.invalid/bindings/go/apfhttp"
)

const (
	slots       = 8
	serviceTime = 10 * time.Millisecond
	quietRate   = 20
	noisyRate   = 50 * quietRate
	mostTimes   = 3.0
	attempts    = 3
)

func main() {
	serve := flag.String("serve", "", "internal: be the server, `with` or `without` the middleware")
	alone := flag.Duration("alone", 5*time.Second, "how long the quiet client is alone")
	together := flag.Duration("together", 8*time.Second, "how long both are there")
	flag.Parse()
	if *serve != "" {
		if err := beServer(*serve == "with"); err != nil {
			fail(err)
		}
		return
	}
	fmt.Printf("backend: %d slots of %v; quiet client %d/s, noisy client %d/s\n\n", slots, serviceTime, quietRate, noisyRate)
	fmt.Printf("%-10s  %-22s  %-22s  %-7s  %-26s  %s\n", "middleware", "quiet alone p50, p99", "beside noisy p50, p99", "times",
		"noisy: served, refused", "CPU of server")
	for _, how := range []string{"without", "with"} {
		// A machine that stands still for a moment spoils a measurement of the last percent.
		for attempt := 1; ; attempt++ {
			times, err := measure(how, *alone, *together)
			if err == nil && (times > mostTimes) == (how == "without") {
				break
			}
			if err == nil {
				err = fmt.Errorf("%s the middleware the quiet client's p99 beside the noisy one is %.1f times its lone value", how, times)
			}
			if attempt == attempts {
				fail(err)
			}
			fmt.Printf("once more: %v\n", err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "fairness:", err)
	os.Exit(1)
}

// The level has as many seats as the backend has slots.
const configuration = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: backend}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 8
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 20}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: clients}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: backend}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: User, user: {name: "*"}}]
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
`

func beServer(with bool) error {
	free := make(chan struct{}, slots)
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		free <- struct{}{}
		time.Sleep(serviceTime)
		<-free
		_, _ = io.WriteString(w, "done\n")
	})
	if with {
		dispatcher, err := apf.New(apf.Options{Seats: 13, Config: apf.Config{Text: configuration, MandatoryOnly: true}})
		if err != nil {
			return err
		}
		handler = apfhttp.New(apfhttp.Options{
			Dispatcher: dispatcher,
			User:       func(r *http.Request) (string, []string, bool) { return r.Header.Get("X-User"), nil, true },
		})(handler)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // whoever started this has gone
	}()
	return http.Serve(listener, handler)
}

func measure(how string, alone, together time.Duration) (float64, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	server := exec.Command(program, "-serve", how)
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		return 0, err
	}
	output, err := server.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := server.Start(); err != nil {
		return 0, err
	}
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return 0, err
	}
	url := "http://" + strings.TrimSpace(address) + "/"

	begun := time.Now()
	lone := client(url, "quiet", quietRate, alone)
	var both sync.WaitGroup
	var quiet, noisy load
	both.Add(2)
	go func() {
		defer both.Done()
		noisy = client(url, "noisy", noisyRate, together)
	}()
	go func() {
		defer both.Done()
		quiet = client(url, "quiet", quietRate, together)
	}()
	both.Wait()
	elapsed := time.Since(begun)
	input.Close()
	_ = server.Wait()
	usage := server.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())

	for _, l := range []load{lone, quiet, noisy} {
		if l.failed > 0 || len(l.served) == 0 {
			return 0, fmt.Errorf("%s: %d requests failed, %d were served", how, l.failed, len(l.served))
		}
	}
	if quiet.refused > 0 {
		return 0, fmt.Errorf("%s: %d requests of the quiet client were refused", how, quiet.refused)
	}
	times := float64(quiet.percentile(99)) / float64(lone.percentile(99))
	fmt.Printf("%-10s  %-22s  %-22s  %-7.1f  %-26s  %.0f %% of one\n", how, lone, quiet, times,
		fmt.Sprintf("%d, %d", len(noisy.served), noisy.refused), 100*cpu.Seconds()/elapsed.Seconds())
	return times, nil
}

// load is what became of a client's requests.
type load struct {
	served          []time.Duration
	refused, failed int
}

func (l load) percentile(p int) time.Duration { return l.served[(len(l.served)-1)*p/100] }

func (l load) String() string {
	return fmt.Sprintf("%.1f ms, %.1f ms", l.percentile(50).Seconds()*1e3, l.percentile(99).Seconds()*1e3)
}

// client asks at fixed times, each request in a goroutine of its own; latency counts from the time that was due.
func client(url, user string, rate int, length time.Duration) load {
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: time.Minute}
	var all load
	var lock sync.Mutex
	var open sync.WaitGroup
	begun := time.Now()
	for i := range int(length.Seconds() * float64(rate)) {
		due := begun.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		open.Add(1)
		go func() {
			defer open.Done()
			status := ask(caller, url, user)
			latency := time.Since(due)
			lock.Lock()
			defer lock.Unlock()
			switch status {
			case http.StatusOK:
				all.served = append(all.served, latency)
			case http.StatusTooManyRequests:
				all.refused++
			default:
				all.failed++
			}
		}()
	}
	open.Wait()
	slices.Sort(all.served)
	return all
}

func ask(caller *http.Client, url, user string) int {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	request.Header.Set("X-User", user)
	response, err := caller.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}
