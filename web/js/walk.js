/* The command that walks a device. */
export const walkLine = (device) => {
	const v6 = device.ip.includes(":");
	return `snmpwalk -v2c -c public ${v6 ? `udp6:[${device.ip}]` : device.ip}:${device.snmp_port}`;
};
