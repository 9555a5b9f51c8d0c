# A stand-in for nats:2.15-alpine.
FROM scratch
COPY files /
ENTRYPOINT ["/bin/nats-server"]
