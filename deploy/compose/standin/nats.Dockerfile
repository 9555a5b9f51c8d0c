# A stand-in for nats:2.12-alpine.
FROM scratch
COPY files /
ENTRYPOINT ["/bin/nats-server"]
