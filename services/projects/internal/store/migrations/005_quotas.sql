create trigger quota after insert on projects referencing new table as fresh
    for each statement execute function keep_quota('projects', 'org_id', 'f.org_id');
create trigger quota after insert on roles referencing new table as fresh
    for each statement execute function keep_quota('roles', 'project_id',
        '(select org_id from projects where id = f.project_id)');
create trigger quota after insert on applications referencing new table as fresh
    for each statement execute function keep_quota('apps', 'project_id',
        '(select org_id from projects where id = f.project_id)');
create trigger quota after insert on project_grants referencing new table as fresh
    for each statement execute function keep_quota('project_grants', 'project_id',
        '(select org_id from projects where id = f.project_id)');
create trigger quota after insert on user_grants referencing new table as fresh
    for each statement execute function keep_quota('user_grants', 'org_id, user_id', 'f.org_id');
