# A stand-in for prom/prometheus: this machine's Prometheus with the same user and folder.
FROM scratch
COPY files /
COPY --chown=65534:65534 data /prometheus
USER 65534
ENTRYPOINT ["/usr/bin/prometheus"]
