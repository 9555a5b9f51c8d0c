-- When the provider's maker says that the client secret ends. Null if nobody has said it.
alter table idps add column secret_expires_at timestamptz;
