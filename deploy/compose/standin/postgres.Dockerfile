# A stand-in for postgres:17-alpine: this machine's Postgres with the same user and folders.
FROM scratch
COPY files /
COPY --chown=70:70 data /var/lib/postgresql/data
ENV PGDATA=/var/lib/postgresql/data
STOPSIGNAL SIGINT
VOLUME /var/lib/postgresql/data
ENTRYPOINT ["/docker-entrypoint.sh"]
CMD ["postgres"]
