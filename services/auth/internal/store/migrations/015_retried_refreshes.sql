-- With a refresh token it gives the next one, so that a request that is sent again gets the same one.
alter table tokens add column seed bytea not null
    default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
