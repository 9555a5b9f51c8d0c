-- A factor has details of its own.
alter table otp_factors
    add column sequence   bigint,
    add column created_at timestamptz,
    add column changed_at timestamptz;
update otp_factors f set sequence = u.sequence, created_at = u.created_at, changed_at = u.created_at
    from users u where u.id = f.user_id;
alter table otp_factors
    alter column sequence   set not null,
    alter column created_at set not null,
    alter column changed_at set not null;

alter table otp_factors
    -- The time step of the code that was accepted last.
    add column last_step      bigint not null default 0,
    -- When wrong codes came.
    add column wrong_at       timestamptz[] not null default '{}',
    -- Hashes, keyed with the factor's secret; a code that was used has none.
    add column recovery_codes bytea[] not null default '{}';
