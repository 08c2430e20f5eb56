#!/bin/sh
# Makes one slow request: two million devices at once, some tenths of a second of CPU. Prints the ids
# of its span and where Grafana shows its trace.
#   examples/otlp-link/slow.sh [NL6 [FIRST_ADDRESS]]
set -eu
nl6=${1:-http://127.0.0.1:8080} first=${2:-10.64.0.1}
head=$(mktemp)
trap 'rm -f "$head"' EXIT
echo "creating 2000000 devices from $first on"
time=$(curl -sS --noproxy '*' -o /dev/null -D "$head" -w '%{time_total}' \
	-H 'Content-Type: application/json' \
	-d "{\"start_ip\":\"$first\",\"device_count\":2000000}" "$nl6/api/v1/devices")
head -n 1 "$head"
ids=$(tr -d '\r' <"$head" | sed -n 's/^traceresponse: *//Ip')
[ -n "$ids" ] || { echo "no traceresponse: is nl6 started with -otlp-endpoint?" >&2; exit 1; }
trace=$(echo "$ids" | cut -d- -f2) span=$(echo "$ids" | cut -d- -f3)
echo "took $time s, trace $trace, span $span"
query="{\"a\":{\"datasource\":\"tempo\",\"queries\":[{\"refId\":\"A\",\"datasource\":{\"type\":\"tempo\",\"uid\":\"tempo\"},\"queryType\":\"traceql\",\"query\":\"$trace\"}],\"range\":{\"from\":\"now-1h\",\"to\":\"now\"}}}"
escaped=$(printf %s "$query" | sed 's/{/%7B/g; s/}/%7D/g; s/"/%22/g; s/\[/%5B/g; s/\]/%5D/g')
echo "http://127.0.0.1:3000/explore?schemaVersion=1&panes=$escaped"
