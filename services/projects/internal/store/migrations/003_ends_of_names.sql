-- For texts at the end of names: read backwards, those that end alike lie side by side.
create index projects_by_end_of_name on projects (org_id, reverse(name));
create index projects_by_end_of_name_folded on projects (org_id, reverse(name_folded));
