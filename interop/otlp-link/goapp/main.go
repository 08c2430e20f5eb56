// A service whose CPU samples carry the span they were taken in, as pprof labels: what the bridge
// makes links of. A trace is taken over from the traceparent header, or begun; the header
// traceresponse tells the ids. /primes?ms=N computes for N milliseconds, /wait?ms=N waits as long.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"regexp"
	"runtime/pprof"
	"strconv"
	"time"
)

var traceparent = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

func randomHex(bytes int) string {
	id := make([]byte, bytes)
	if _, err := rand.Read(id); err != nil {
		log.Fatal(err)
	}
	return hex.EncodeToString(id)
}

// spanned runs a handler in a span of its own, which its samples and those of its goroutines tell.
func spanned(name string, prefix string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		trace, span := randomHex(16), randomHex(8)
		if from := traceparent.FindStringSubmatch(r.Header.Get("traceparent")); from != nil {
			trace = from[1]
		}
		w.Header().Set("traceresponse", "00-"+trace+"-"+span+"-01")
		labels := pprof.Labels(prefix+"trace_id", trace, prefix+"span_id", span,
			prefix+"span_name", name)
		pprof.Do(r.Context(), labels, func(ctx context.Context) {
			handler(w, r.WithContext(ctx))
		})
	}
}

// divides is small enough that the compiler puts it into its caller: two lines of one location.
func divides(d, n int) bool { return n%d == 0 }

//go:noinline
func countPrimes(limit int) int {
	count := 0
next:
	for n := 2; n < limit; n++ {
		for d := 2; d*d <= n; d++ {
			if divides(d, n) {
				continue next
			}
		}
		count++
	}
	return count
}

func duration(r *http.Request) time.Duration {
	ms, err := strconv.Atoi(r.URL.Query().Get("ms"))
	if err != nil || ms < 0 || ms > 60000 {
		ms = 1000
	}
	return time.Duration(ms) * time.Millisecond
}

func primes(w http.ResponseWriter, r *http.Request) {
	end, count := time.Now().Add(duration(r)), 0
	for time.Now().Before(end) {
		done := make(chan int)
		go func() { done <- countPrimes(20000) }() // inherits the labels
		count = <-done
	}
	fmt.Fprintln(w, count)
}

func wait(w http.ResponseWriter, r *http.Request) {
	time.Sleep(duration(r))
	fmt.Fprintln(w, "waited")
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to answer at")
	prefix := flag.String("prefix", "otel.profile.", "what the names of the labels begin with")
	flag.Parse()
	http.HandleFunc("/primes", spanned("GET /primes", *prefix, primes))
	http.HandleFunc("/wait", spanned("GET /wait", *prefix, wait))
	at, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready http://" + at.Addr().String())
	log.Fatal(http.Serve(at, nil))
}
