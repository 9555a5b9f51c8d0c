-- Events as their contracts call them.
update events set aggregate = 'project_grant' where aggregate = 'grant';
update events set name = 'changed', data = '{"changed": ["name"]}' where aggregate = 'org' and name = 'renamed';
update events set name = 'removed' where aggregate = 'message' and name = 'reset';
