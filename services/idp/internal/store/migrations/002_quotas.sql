create trigger quota after insert on idps referencing new table as fresh
    for each statement execute function keep_quota('idps', 'org_id', 'f.org_id');
