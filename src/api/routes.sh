#!/bin/bash
# Routes the addresses of an nl6 fleet to the host that nl6 runs on. To be run as root on the host
# that is to reach the devices.
#
# usage: add_simulator_routes.sh SIMULATOR_HOST_IP [--temporary | --remove]
#
# Without an option the routes are added now and survive a restart; --temporary adds them until the
# next restart; --remove takes them away again. ROUTES_ROOT=DIR writes the files that make routes
# permanent below DIR (to prepare an image) and leaves the running system alone.
set -u
routes=(
# @ROUTES@
)
gateway=${1-} action=${2---permanent} root=${ROUTES_ROOT-}
note="written by add_simulator_routes.sh of nl6"

say() { printf '%s\n' "$*"; }
fail() {
	printf '%s\n' "$*" >&2
	exit 1
}
usage() { fail "usage: $0 SIMULATOR_HOST_IP [--temporary | --remove]"; }

family() { case $1 in *:*) echo 6 ;; *) echo 4 ;; esac; }

# Only routes of the gateway's family can go through it.
choose() {
	local route version
	version=$(family "$gateway")
	chosen=()
	for route in "${routes[@]}"; do
		[ "$(family "$route")" = "$version" ] && chosen+=("$route")
	done
	local left=$((${#routes[@]} - ${#chosen[@]}))
	[ $left = 0 ] || say "$left routes are of the other IP version: run this again with" \
		"the other address of the nl6 host."
	[ ${#chosen[@]} -gt 0 ] || fail "No device has an address of IP version $version."
}

# The interface that leads to the gateway.
find_device() {
	dev=$(ip "-$version" -o route get "$gateway" 2>/dev/null |
		sed -n 's/.* dev \([^ ]*\).*/\1/p')
	[ -n "$dev" ] || fail "No way to $gateway: is it the address of the nl6 host?"
	case "$(ip "-$version" -o route get "$gateway" 2>/dev/null)" in
	*" via "*) fail "$gateway is behind a router: add the routes on that router instead." ;;
	esac
}

# One process for all routes, however many.
batch() { # VERB
	local verb=$1 route
	for route in "${chosen[@]}"; do
		printf 'route %s %s via %s dev %s\n' "$verb" "$route" "$gateway" "$dev"
	done | ip "-$version" -force -batch -
}

put() { # FILE MODE: standard input becomes the file
	mkdir -p "$(dirname "$root$1")" || exit 1
	if (umask 077 && cat >"$root$1.new") && chmod "$2" "$root$1.new" &&
		mv "$root$1.new" "$root$1"; then
		say "Wrote $root$1."
	else
		fail "Cannot write $root$1."
	fi
}

runs() { [ -z "$root" ] && systemctl -q is-active "$1" 2>/dev/null; }
has() { command -v "$1" >/dev/null 2>&1; }

# What manages the network here.
find_manager() {
	local id
	id=$(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' "$root/etc/os-release" 2>/dev/null | tr -d \")
	if compgen -G "$root/etc/netplan/*.yaml" >/dev/null; then
		manager=netplan
	elif runs NetworkManager && has nmcli && [ -n "$(connection)" ]; then
		manager=nmcli
	elif [[ $id == *suse* || $id == *sles* ]]; then
		manager=suse
	elif [ -d "$root/etc/sysconfig/network-scripts" ]; then
		manager=redhat
	elif runs systemd-networkd || [ -n "$(network_file)" ]; then
		manager=networkd
	elif [ -d "$root/etc/network" ]; then
		manager=ifupdown
	else
		fail "What manages the network of this host is not known: use --temporary."
	fi
}

connection() { nmcli -g GENERAL.CONNECTION device show "$dev" 2>/dev/null | grep -v '^--$'; }

# The .network file that systemd-networkd uses for the interface.
network_file() {
	if [ -z "$root" ] && has networkctl; then
		networkctl --no-pager status "$dev" 2>/dev/null |
			sed -n 's/^ *Network File: *\(\/.*\)$/\1/p'
		return
	fi
	grep -ls "^Name=$dev\$" "$root"/etc/systemd/network/*.network | head -n 1
}

# Each manager's file for the gateway's IP version, and what it holds.
permanent_netplan() {
	file=/etc/netplan/99-simulator-routes-v$version.yaml
	[ "$verb" = add ] || return 0
	local route kind=ethernets
	[ -d "/sys/class/net/$dev/bridge" ] && kind=bridges
	[ -d "/sys/class/net/$dev/bonding" ] && kind=bonds
	[ -e "/proc/net/vlan/$dev" ] && kind=vlans
	{
		printf '# %s\nnetwork:\n  version: 2\n  %s:\n    %s:\n      routes:\n' \
			"$note" "$kind" "$dev"
		for route in "${chosen[@]}"; do
			printf '        - {to: "%s", via: "%s"}\n' "$route" "$gateway"
		done
	} | put "$file" 600
}
permanent_networkd() {
	local used route
	used=$(network_file)
	[ -n "$used" ] || fail "systemd-networkd has no file for $dev: use --temporary."
	# A second .network file for the interface would replace the first; a drop-in adds to it.
	file=/etc/systemd/network/$(basename "$used").d/50-simulator-routes-v$version.conf
	[ "$verb" = add ] || return 0
	{
		printf '# %s\n' "$note"
		for route in "${chosen[@]}"; do
			printf '[Route]\nDestination=%s\nGateway=%s\n' "$route" "$gateway"
		done
	} | put "$file" 644
}
permanent_ifupdown() {
	file=/etc/network/if-up.d/simulator-routes-v$version
	[ "$verb" = add ] || return 0
	{
		printf '#!/bin/sh\n# %s\n[ "%s" = "%s" ] || exit 0\n' "$note" "\$IFACE" "$dev"
		printf 'ip -%s -force -batch - <<END\n' "$version"
		local route
		for route in "${chosen[@]}"; do
			printf 'route replace %s via %s dev %s\n' "$route" "$gateway" "$dev"
		done
		printf 'END\n'
	} | put "$file" 755
}
# Files that others write to as well: our lines stand between two marks.
between_marks() { # FILE: standard input replaces what stands between our marks
	file=$1
	local old="" mark="# simulator routes v$version"
	[ -f "$root$file" ] && old=$(sed "/^$mark begin/,/^$mark end/d" "$root$file")
	[ -f "$root$file" ] && cp -p "$root$file" "$root$file.before-simulator-routes"
	{
		[ -z "$old" ] || printf '%s\n' "$old"
		if [ "$verb" = add ]; then
			printf '%s begin, %s\n' "$mark" "$note"
			cat
			printf '%s end\n' "$mark"
		fi
	} | put "$file" 644
}
permanent_redhat() {
	local route infix=""
	[ "$version" = 6 ] && infix=6
	for route in "${chosen[@]}"; do
		printf '%s via %s dev %s\n' "$route" "$gateway" "$dev"
	done | between_marks "/etc/sysconfig/network-scripts/route$infix-$dev"
}
permanent_suse() {
	local route
	for route in "${chosen[@]}"; do
		printf '%s %s - %s\n' "$route" "$gateway" "$dev"
	done | between_marks /etc/sysconfig/network/routes
}
permanent_nmcli() {
	local sign=+ route list=""
	[ "$verb" = add ] || sign=-
	for route in "${chosen[@]}"; do
		list+="${list:+, }$route $gateway"
	done
	nmcli connection modify "$(connection)" "${sign}ipv$version.routes" "$list" ||
		fail "nmcli could not change the connection of $dev"
	say "Changed the connection \"$(connection)\" of NetworkManager."
}

change_permanent() { # add or remove
	verb=$1 file=""
	find_manager
	"permanent_$manager"
	case $manager in
	netplan | networkd | ifupdown)
		if [ "$verb" = remove ] && [ -f "$root$file" ]; then
			rm -f "$root$file" && say "Removed $root$file."
		fi
		;;
	esac
	[ "$verb" = remove ] || say "To undo this: $0 $gateway --remove"
}

verify() {
	local first=${chosen[0]} address
	address=${first%/*}
	if [ "$(ip "-$version" -o route get "$address" 2>/dev/null | grep -c " via $gateway ")" = 1 ]; then
		say "Routes to ${#chosen[@]} prefixes through $gateway on $dev are in place." \
			"See them with: ip -$version route show via $gateway"
	else
		fail "The route to $address does not lead through $gateway: see ip -$version route."
	fi
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then usage; fi
case $action in --permanent | --temporary | --remove) ;; *) usage ;; esac
[ ${#routes[@]} -gt 0 ] || fail "The fleet has no devices that can be routed to:" \
	"it is empty, or all its addresses are loopback addresses."
[ "$(id -u)" = 0 ] || [ -n "$root" ] || fail "Adding routes needs root."
version=$(family "$gateway")
choose
find_device
case $action in
--permanent) change_permanent add ;;
--remove) change_permanent remove ;;
esac
if [ -z "$root" ]; then
	if [ "$action" = --remove ]; then
		batch del && say "The routes are gone."
	else
		batch replace || fail "Not every route could be added."
		verify
	fi
fi
