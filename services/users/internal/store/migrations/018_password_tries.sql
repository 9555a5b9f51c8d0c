-- code_tries is left with guesses at passwords.
alter table code_tries rename to password_tries;
alter table password_tries drop column purpose, add primary key (user_id);
alter index code_tries_by_age rename to password_tries_by_age;
