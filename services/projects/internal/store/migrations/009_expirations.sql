-- Find what expires soon.
create index application_keys_by_expiration on application_keys (expires_at);
create index applications_by_former_secret on applications (former_secret_until) where former_secret_until is not null;
