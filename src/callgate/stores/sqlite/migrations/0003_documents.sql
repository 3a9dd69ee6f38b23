-- What tools keep: threads, notices. Not part of the record, and forgotten when its tool says so.

CREATE TABLE documents (
    area TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL, -- JSON
    PRIMARY KEY (area, key)
) WITHOUT ROWID;
