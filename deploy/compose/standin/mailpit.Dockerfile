# A stand-in for axllent/mailpit.
FROM scratch
COPY files /
ENTRYPOINT ["/mailpit"]
