#!/bin/sh
# poll PREFIX FIRST LAST: walks the devices PREFIX.FIRST to PREFIX.LAST in turn, without end.
while :; do
	for i in $(seq "$2" "$3"); do
		snmpbulkwalk -v2c -c public -Oqn -Cr25 "$1.$i:1161" 1.3.6.1.2.1 >/dev/null
	done
done
