create extension if not exists pg_trgm;

-- For searches of users by a beginning, a part or an end of any of their texts. One index of all texts: most of
-- them have the same words, and an index for each text would make imports much slower.
create index users_by_part on users using gin ((E'\n' || user_name || E'\n' || user_name_folded || E'\n' ||
    first_name || E'\n' || first_name_folded || E'\n' || last_name || E'\n' || last_name_folded || E'\n' ||
    display_name || E'\n' || display_name_folded || E'\n' || email || E'\n' || email_folded || E'\n') gin_trgm_ops);
