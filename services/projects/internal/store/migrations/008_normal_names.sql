-- Names are stored in NFC. One that would then be another's stays until somebody changes it.
update projects p set name = normalize(p.name, NFC)
    where p.name is not NFC normalized and not exists (
        select from projects o where o.org_id = p.org_id and o.id <> p.id
            and normalize(o.name, NFC) = normalize(p.name, NFC)
    );
update applications a set name = normalize(a.name, NFC)
    where a.name is not NFC normalized and not exists (
        select from applications o where o.project_id = a.project_id and o.id <> a.id
            and normalize(o.name, NFC) = normalize(a.name, NFC)
    );
