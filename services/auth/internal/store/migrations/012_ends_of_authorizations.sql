-- By what a person's authorization ends: the deactivation of the project, of the application's organization, or of the
-- grant of the project.
create index authorizations_by_project on authorizations (project_id) where user_id <> '' and project_id <> '';
create index authorizations_by_client_org on authorizations (client_org_id) where user_id <> '' and project_id <> '';
