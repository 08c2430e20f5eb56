// A program with work in spans, which are told by pprof labels, for the bridge's tests: serves
// net/http/pprof, or writes what it would serve to a directory.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

func divides(n, d int) bool { return n%d == 0 }

//go:noinline
func countPrimes(until time.Time) (n int) {
	for i := 2; time.Now().Before(until); i++ {
		prime := true
		for d := 2; d*d <= i; d++ {
			if divides(i, d) {
				prime = false
				break
			}
		}
		if prime {
			n++
		}
	}
	return
}

func span(i int) []string {
	return []string{
		"otel.profile.trace_id", fmt.Sprintf("%032x", 0xabc000+i),
		"otel.profile.span_id", fmt.Sprintf("%016x", 0xdef000+i),
		"otel.profile.span_name", "GET /cpu-heavy", "service.name", "goapp"}
}

var kept [][]byte

func work(spans int, each time.Duration) {
	for i := 1; i <= spans; i++ {
		pprof.Do(context.Background(), pprof.Labels(span(i)...), func(context.Context) {
			countPrimes(time.Now().Add(each))
			kept = append(kept, bytes.Repeat([]byte{1}, 1<<20))
		})
	}
	pprof.Do(context.Background(), pprof.Labels("trace_id", "1234"), func(context.Context) {
		countPrimes(time.Now().Add(each))
	})
	countPrimes(time.Now().Add(each))
}

func write(path string, fill func(f *os.File) error) {
	f, err := os.Create(path)
	if err == nil {
		err = fill(f)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
}

func main() {
	runtime.MemProfileRate = 1 << 16
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		go func() {
			for {
				work(3, 100*time.Millisecond)
				kept = nil
			}
		}()
		panic(http.ListenAndServe(os.Args[2], nil))
	}
	dir := os.Args[1]
	write(dir+"/go-cpu.pb.gz", func(f *os.File) error {
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		work(5, 100*time.Millisecond)
		pprof.StopCPUProfile()
		return nil
	})
	write(dir+"/go-heap.pb.gz", func(f *os.File) error {
		runtime.GC()
		return pprof.Lookup("allocs").WriteTo(f, 0)
	})
}
