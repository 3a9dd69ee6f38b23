-- json_extract ends a text at a NUL: what stood beside such entries was the name of another. `text_in` is ours.

UPDATE projections SET
    tool = text_in(body, 'tool'),
    status = text_in(body, 'status'),
    principal = text_in(body, 'principal'),
    session = text_in(body, 'session'),
    trace = text_in(body, 'trace'),
    approval_id = text_in(body, 'approval_id')
WHERE json_valid(body) AND instr(body, '\u0000');
