# nl6 in a container: built from Debian's packages, run by a user of its own. Devices in 127.0.0.0/8
# need nothing more; others take --cap-add NET_ADMIN --cap-add SYS_ADMIN --user root.
FROM debian:12-slim AS build
WORKDIR /src
COPY packages.txt ./
COPY .ci/packages .ci/packages
RUN .ci/packages run build
COPY . .
RUN meson setup build -Db_lto=true -Dtests=false --prefix /usr
RUN ninja -C build
RUN DESTDIR=/out meson install -C build --no-rebuild

FROM debian:12-slim
COPY packages.txt /tmp/nl6/
COPY .ci/packages /tmp/nl6/.ci/packages
RUN /tmp/nl6/.ci/packages run && rm -rf /tmp/nl6 /var/lib/apt/lists
COPY --from=build /out/ /
RUN useradd --system --no-create-home --shell /usr/sbin/nologin nl6
USER nl6
EXPOSE 8080/tcp 1161/udp
ENV NL6_LISTEN=0.0.0.0 NL6_SNMP_PORT=1161
HEALTHCHECK --interval=10s --timeout=3s --start-period=5m CMD ["bash", "-c", "\
port=${NL6_PORT:-8080}; \
case $port in tcp:*) port=8080 ;; esac; \
exec 3<>/dev/tcp/127.0.0.1/$port; \
printf 'GET /health HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; \
read -r _ status _ <&3; [ $status = 200 ]"]
ENTRYPOINT ["/usr/bin/nl6"]
