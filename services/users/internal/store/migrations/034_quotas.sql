create trigger quota after insert on personal_access_tokens referencing new table as fresh
    for each statement execute function keep_quota('pats', 'user_id',
        '(select org_id from users where id = f.user_id)');
create trigger quota after insert on machine_keys referencing new table as fresh
    for each statement execute function keep_quota('keys', 'user_id',
        '(select org_id from users where id = f.user_id)');
create trigger quota after insert on members referencing new table as fresh
    for each statement execute function keep_quota('members', 'org_id, project_id', 'f.org_id');
