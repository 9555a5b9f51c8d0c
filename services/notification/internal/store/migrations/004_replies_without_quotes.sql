-- The text of a relay's reply may quote the mail with its code. Of the replies that are there only the codes and our
-- own sentences are kept. Later replies are stored without what may be quoted.
update attempts set reply = regexp_replace(reply,
    '((?:^|\()[1-9]\d\d(?: [245]\.\d{1,3}\.\d{1,3})?) .*$|: (?:short response|invalid response code): .*$', '\1 …')
where reply ~ '(?:^|\()[1-9]\d\d |: (?:short response|invalid response code): ';
