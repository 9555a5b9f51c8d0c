-- Find what expires soon.
create index machine_keys_by_expiration on machine_keys (expires_at);
create index personal_access_tokens_by_expiration on personal_access_tokens (expires_at);
create index codes_by_expiration on codes (expires_at) where purpose = 'init';
