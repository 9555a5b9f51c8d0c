-- JWT access tokens are signed like id tokens, so other keys sign nothing.
delete from signing_keys where algorithm <> 'RS256';
